//go:build linux

package peers_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A resolver sends its queries to gdnsd.
type resolver struct {
	t *testing.T
	*net.Resolver
}

// startGdnsd starts gdnsd with the configuration in examples and its own directories.
func startGdnsd(t *testing.T, n *lab.Network) resolver {
	t.Helper()
	program := lab.Need(t, "gdnsd", "gdnsd")
	must(t, exec.Command(program, "-S", "-c", example(t, "gdnsd"), "checkconf"))
	dir := t.TempDir()
	own := fmt.Sprintf("options => {\n  run_dir => %q\n  state_dir => %q\n", filepath.Join(dir, "run"),
		filepath.Join(dir, "state"))
	config := strings.Replace(lab.Read(t, example(t, "gdnsd/config")), "options => {\n", own, 1)
	lab.Write(t, filepath.Join(dir, "config"), config)
	lab.Write(t, filepath.Join(dir, "zones/example.com"), lab.Read(t, example(t, "gdnsd/zones/example.com")))
	lab.StartProgram(t, n.Command(program, "-c", dir, "start"))
	return resolver{t, &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return n.DialContext(ctx, network, names+":53")
		},
	}}
}

// waitFor waits until the name of the pool has these addresses.
func (r resolver) waitFor(addresses ...string) {
	r.t.Helper()
	took := lab.WaitFor(r.t, 30*time.Second, 50*time.Millisecond, func() error {
		got, err := r.LookupHost(context.Background(), "puppet.example.com.")
		slices.Sort(got)
		if err == nil && !slices.Equal(got, addresses) {
			err = fmt.Errorf("puppet.example.com has %v, want %v", got, addresses)
		}
		return err
	})
	r.t.Logf("puppet.example.com is %v after %v", addresses, took.Round(time.Millisecond))
}

// TestGdnsdAnswersWithTheMastersThatServe uses a simulated and a real master. A real agent
// that is configured with a domain only then finds the master that is left.
func TestGdnsdAnswersWithTheMastersThatServe(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	lab.Need(t, "puppet", "puppet-agent")
	n := network(t, first, names)
	must(t, n.Command("ip", "address", "add", "192.0.2.1/24", "dev", "lab0"))
	h, master := startMaster(t, n)
	one := lab.StartDemo(t, n, first)
	dns := startGdnsd(t, n)
	master.WaitReady(5 * time.Minute)
	dns.waitFor(first, second)

	_, servers, err := dns.LookupSRV(context.Background(), "x-puppet", "tcp", "example.com.")
	if err != nil || len(servers) != 1 || *servers[0] != (net.SRV{Target: "puppet.example.com.", Port: 8140, Weight: 5}) {
		t.Errorf("SRV: %v, %v", servers, err)
	}

	h.MustRun("pmcheck", "drain")
	dns.waitFor(first)
	h.MustRun("pmcheck", "ready")
	dns.waitFor(first, second)

	one.Type("stopped", "unhealthy: refused")
	dns.waitFor(second)
	runAgent(t, h)

	h.MustRun("pmcheck", "drain")
	dns.waitFor(first, second) // no master serves, so gdnsd returns all of them
	one.Type("running", serving)
	dns.waitFor(first)
}

// startMaster boots the second master of the examples, with pmcheck. It does not wait until
// the master is ready.
func startMaster(t *testing.T, n *lab.Network) (*lab.Host, *lab.PuppetMaster) {
	t.Helper()
	h := n.Boot("m2")
	h.MustRun("ip", "address", "add", second+"/24", "dev", "eth0")
	h.WriteFile("/etc/resolv.conf", "nameserver "+names+"\n", 0o644)
	h.Copy(lab.Build(t), "/usr/local/bin/pmcheck", 0o755)
	h.MustRun("mkdir", "-p", "/run/pmcheck/holds", "/var/lib/pmcheck/holds")
	master := h.StartPuppetMaster(lab.PuppetMasterOptions{AltNames: []string{"puppet.example.com", "ca.example.com"}})
	master.SetSitePP("notify { 'found by SRV': }\n")
	h.Start("/usr/local/bin/pmcheck", "serve")
	return h, master
}

// runAgent runs an agent that has no key, no certificate and no server.
func runAgent(t *testing.T, h *lab.Host) {
	t.Helper()
	out, err := h.Run("puppet", "agent", "--onetime", "--no-daemonize", "--debug", "--color=false",
		"--certname", "agent.example.com", "--confdir", "/tmp/agent", "--vardir", "/tmp/agent/var", "--ssldir",
		"/tmp/agent/ssl",
		"--keylength", "2048", "--use_srv_records", "--srv_domain", "example.com", "--no-usecacheonfailure")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Found 1 SRV records for: _x-puppet-ca._tcp.example.com",
		"Found 1 SRV records for: _x-puppet._tcp.example.com",
		"Yielding next server of puppet.example.com:8140",
		"found by SRV",
		"Applied catalog",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the agent's output lacks %q", want)
		}
	}
	if t.Failed() {
		t.Logf("the agent's output:\n%s", out)
	}
}
