package faults_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A site is a master on a host, pmcheck installed beside it, and a balancer.
type site struct {
	t       *testing.T // of the fault under way
	net     *lab.Network
	host    *lab.Host
	master  *lab.PuppetMaster
	haproxy *lab.HAProxy
	client  http.Client // in the network, as the balancer is
	table   *table
}

// balancerConfig has what README.md says, and checks more often.
const balancerConfig = `
defaults
    mode tcp
    timeout connect 5s
    timeout client 30m
    timeout server 30m
backend puppet
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    timeout check 1s
    default-server check port 9200 inter 500ms fall 2 rise 2
    server m1 %s
`

// newSite starts a host with everything on it. It vanishes with the test.
func newSite(t *testing.T, table *table, opts lab.PuppetMasterOptions, yaml string) *site {
	t.Helper()
	s := &site{t: t, net: lab.StartNetwork(t), table: table}
	s.client = http.Client{
		Transport: &http.Transport{DialContext: s.net.DialContext, DisableKeepAlives: true},
		Timeout:   2 * time.Second,
	}
	s.host = s.net.Boot("m1")
	s.host.MustRun("rm", "-f", "/usr/sbin/policy-rc.d") // of machines that are containers: start nothing
	s.host.WriteFile(config.DefaultFile, yaml, 0o644)
	s.master = s.host.StartPuppetMaster(opts)
	s.host.Copy(lab.DEB(t, "1.0.0"), "/root/pmcheck.deb", 0o644) // meanwhile
	s.master.WaitReady(5 * time.Minute)
	s.host.MustRun("dpkg", "--install", "--force-confold", "/root/pmcheck.deb")
	s.haproxy = s.net.StartHAProxy(t, fmt.Sprintf(balancerConfig, s.master.Address()))
	s.awaitFit()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("pmcheck logged:\n%s", s.host.Journal("pmcheck"))
		}
	})
	return s
}

// silence is what balancers are told by nobody, or too late.
const silence = "nothing"

// answer is what a balancer is told, or that it is told nothing.
func (s *site) answer() string {
	resp, err := s.client.Get("http://" + s.host.Address + ":9200/")
	if err != nil {
		return silence
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return silence
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, strings.TrimSuffix(string(body), "\n"))
}

// state is HAProxy's conclusion: "UP", "UP 1/2" on the way down, "DOWN", ...
func (s *site) state() string {
	stats, err := s.haproxy.Stats()
	if err != nil {
		return err.Error()
	}
	for _, one := range stats {
		if one.Server == "m1" {
			return one.Status
		}
	}
	return "no server"
}

// awaitFit waits until pmcheck and HAProxy have the master in.
func (s *site) awaitFit() {
	s.t.Helper()
	lab.RetryUntil(s.t, startTime, 10*time.Millisecond, func() error {
		if answer, state := s.answer(), s.state(); answer != serving || state != "UP" {
			return fmt.Errorf("balancers are told %q, and HAProxy says %s", answer, state)
		}
		return nil
	})
}

// long reports whether make faults asks for every row.
func long() bool { return os.Getenv("PMCHECK_LONG") != "" }
