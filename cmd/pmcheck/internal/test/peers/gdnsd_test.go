package peers_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A resolver sends its queries to gdnsd.
type resolver struct {
	t *testing.T
	*net.Resolver
	net *lab.Network
	dir string
}

// startGdnsd starts gdnsd with the configuration in examples and its own directories.
func startGdnsd(t *testing.T, n *lab.Network) resolver {
	t.Helper()
	program := lab.Need(t, "gdnsd", "gdnsd")
	lab.Output(t, exec.Command(program, "-S", "-c", example(t, "gdnsd"), "checkconf"))
	dir := t.TempDir()
	own := fmt.Sprintf("options => {\n  run_dir => %q\n  state_dir => %q\n", filepath.Join(dir, "run"),
		filepath.Join(dir, "state"))
	config := strings.Replace(lab.Read(t, example(t, "gdnsd/config")), "options => {\n", own, 1)
	lab.Write(t, filepath.Join(dir, "config"), config)
	r := resolver{t, &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return n.DialContext(ctx, network, names+":53")
		},
	}, n, dir}
	r.writeZone("")
	lab.StartProgram(t, n.Command(program, "-c", dir, "start"))
	return r
}

// writeZone writes the zone of the example without a record.
func (r resolver) writeZone(record string) {
	r.t.Helper()
	zone := lab.Read(r.t, example(r.t, "gdnsd/zones/example.com"))
	lab.Write(r.t, filepath.Join(r.dir, "zones/example.com"), strings.Replace(zone, record, "", 1))
}

// reload has gdnsd read the zone without a record, once it answers on its control socket.
func (r resolver) reload(record string) {
	r.t.Helper()
	r.writeZone(record)
	program := lab.Need(r.t, "gdnsdctl", "gdnsd")
	waitFor(r.t, func() error { return r.net.Command(program, "-c", r.dir, "reload-zones").Run() })
}

func (r resolver) waitFor(name string, addresses ...string) {
	r.t.Helper()
	waitFor(r.t, func() error {
		got, err := r.LookupHost(context.Background(), name+".example.com.")
		slices.Sort(got)
		if err == nil && !slices.Equal(got, addresses) {
			err = fmt.Errorf("%s has %v, want %v", name, got, addresses)
		}
		return err
	})
}

func TestGdnsdAnswersWithTheMastersThatServe(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	n := network(t, first, second, third, names)
	one, two, three := lab.StartDemo(t, n, first), lab.StartDemo(t, n, second), lab.StartDemo(t, n, third)
	dns := startGdnsd(t, n)
	for _, step := range []struct {
		of           *lab.Demo
		word, body   string
		puppet       []string
		north, south string // no north: one of the site's own, by weight
	}{
		{one, "ready", lab.ServingBody, []string{first, second}, "", third},
		{one, "drain", "drain", []string{second}, second, third},
		{two, "stopped", "unhealthy: refused", []string{first, second}, third, third}, // none serves: all of them
		{one, "ready", lab.ServingBody, []string{first}, first, third},
		{three, "drain", "drain", []string{first}, first, first},
	} {
		step.of.Type(step.word, step.body)
		dns.waitFor("puppet", step.puppet...)
		if step.north != "" {
			dns.waitFor("puppet-north", step.north)
		}
		dns.waitFor("puppet-south", step.south)
	}
}

// TestHAProxyLearnsItsServersFromSRVRecords: HAProxy uses a new master once it has a record, and no longer once
// the record is gone.
func TestHAProxyLearnsItsServersFromSRVRecords(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	const record = "_puppet._tcp  10  SRV 0 25600 8140 puppet2.example.com.\n"
	n := network(t, first, second, names, front)
	lab.StartDemo(t, n, first)
	lab.StartDemo(t, n, second)
	dns := startGdnsd(t, n)
	dns.reload(record)
	haproxy := n.StartHAProxy(t, lab.Read(t, example(t, "haproxy/srv.cfg")))
	used := func(want int) {
		t.Helper()
		waitFor(t, func() error {
			stats, err := haproxy.Stats()
			got := 0
			for _, s := range stats {
				if s.Backend == "puppet" && s.Status == "UP" && s.CheckCode == "200" {
					got++
				}
			}
			if got != want {
				return fmt.Errorf("HAProxy has %d servers UP, want %d: %+v (%v)", got, want, stats, err)
			}
			return nil
		})
	}
	used(1)
	const weight = ` puppet1 192\.0\.2\.11 \d+ \d+ 100 `
	if state := haproxy.Admin("show servers state"); !regexp.MustCompile(weight).MatchString(state) {
		t.Errorf("no server has the weight of its record:\n%s", state)
	}
	dns.reload("")
	used(2)
	dns.reload(record)
	used(1)
}
