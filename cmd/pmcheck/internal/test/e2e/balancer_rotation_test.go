//go:build linux

package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestRotationOfARealMaster has a real master leave, and not leave, a real HAProxy
// where pmcheck has been wrong about one of them.
func TestRotationOfARealMaster(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	s := lab.StartPuppetServer(t, lab.PuppetServerOptions{
		Certname:           "rotated.lab.example",
		MaxActiveInstances: 2,
		MaxRequests:        4,
		HeapMB:             768,
	})
	lab.Build(t)
	s.WaitReady(5 * time.Minute)
	s.IssueCert(agentName, nil)
	t.Run("a balancer that asks every 15 s", func(t *testing.T) { testSlowBalancer(t, s) })
	t.Run("a balancer on the master's host", func(t *testing.T) { testBalancerOnTheHost(t, s) })
	t.Run("reload and restart while a JRuby is replaced", func(t *testing.T) { testJRubyReplaced(t, s) })
}

// testSlowBalancer: drain --wait waits for a balancer that asks every 15 s and never
// tells its state, while Prometheus reads the metrics every 14 s.
func testSlowBalancer(t *testing.T, s *lab.PuppetServer) {
	const ours, theirs = "192.0.2.1", "192.0.2.2" // a client on loopback is no balancer
	for _, address := range []string{ours, theirs} {
		if out, err := exec.Command("ip", "address", "add", address+"/32", "dev", "lo").CombinedOutput(); err != nil {
			t.Fatalf("ip address: %v: %s", err, out)
		}
	}
	r := lab.StartSite(t, lab.SiteOptions{Server: s, Listen: lab.Address(t, ours), YAML: "status_allow: [" + ours + "]\n"})
	lab.StartRecord(t, 14*time.Second, func() string {
		resp, err := http.Get("http://" + r.Listen + "/metrics")
		if err != nil {
			return lab.NoAnswer
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.Status
	})
	h := r.Balance(fmt.Sprintf("%slisten puppet\n bind %s\n option httpchk GET /\n"+
		" server m1 MASTER check addr %s port LISTEN-PORT source %s inter 15s fall 1 rise 1\n",
		tcpDefaults, lab.Address(t, "127.0.0.1"), ours, theirs))
	r.WaitBalancer(func(b lab.Balancer) bool { return b.Source.String() == theirs && b.Counts() }, 3*time.Minute)
	began := time.Now()
	out, status := r.Run("drain", "--wait=1m")
	took := time.Since(began)
	measured(t, "drain --wait with a balancer that asks every 15 s", took)
	if status != 0 {
		t.Errorf("drain --wait ends with %d:\n%s", status, out)
	}
	if state := h.Stat("puppet", "m1").Status; state != "DOWN" {
		t.Errorf("idle after %v, but HAProxy has the master %s:\n%s", took, state, out)
	}
}

// testBalancerOnTheHost: agents that go through an address of the master's host, on
// Puppet's port, to another master do not keep this one from being idle.
func testBalancerOnTheHost(t *testing.T, s *lab.PuppetServer) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	address := "127.0.0.9:" + lab.Port(t, s.Address())
	r.Balance(fmt.Sprintf("%slisten puppet\n bind %s\n option httpchk GET /\n use-server m2 if TRUE\n"+
		" server m1 MASTER check port LISTEN-PORT inter 1s fall 1\n server m2 %s\n", tcpDefaults, address, startEcho(t)))
	agent := startSession(t, address)
	traffic := lab.StartRecord(t, 200*time.Millisecond, func() string { return fmt.Sprint(agent.carries()) })
	out, status := r.Run("drain", "--wait=20s")
	if status != 0 {
		t.Errorf("drain --wait ends with %d:\n%s", status, out)
	}
	traffic.Stop().AssertOnly("true")
}

// testJRubyReplaced: Puppet Server replaces a JRuby after max-requests-per-instance. A
// daemon that is reloaded or restarted meanwhile does not take the master for one that
// has just started.
func testJRubyReplaced(t *testing.T, s *lab.PuppetServer) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s, YAML: "jruby: {warming_max: 10s}\n"})
	h := r.Balance(fmt.Sprintf("%slisten puppet\n bind %s\n option httpchk GET /\n http-check send-state\n"+
		" server m1 MASTER check port LISTEN-PORT inter 1s fall 3 rise 2\n", tcpDefaults, lab.Address(t, "127.0.0.1")))
	h.WaitStatus("puppet", "m1", "UP", 10*time.Second)
	before := len(h.Log())
	for _, again := range []struct {
		name string
		do   func()
	}{
		{"reload", func() { r.Signal(syscall.SIGHUP) }},
		{"restart", func() {
			r.Stop(syscall.SIGTERM)
			r.Start()
			r.WaitLive(10 * time.Second)
		}},
	} {
		for range 3 {
			waitForReplacement(r, s)
			since := time.Now()
			again.do()
			assertServesWithoutOne(r, again.name, since)
		}
	}
	if log := h.Log()[before:]; strings.Contains(log, "is DOWN") {
		t.Errorf("HAProxy has had the master DOWN:\n%s", log)
	}
}

// assertServesWithoutOne fails the test if a daemon still refuses a master that lacks a
// JRuby, when it has looked a few times. That is inconclusive if the JRuby is back.
func assertServesWithoutOne(r *lab.Site, after string, since time.Time) {
	r.TB.Helper()
	r.WaitStatus(time.Minute, func(status lab.Status) error {
		f, answer := lab.Finding(status, check.CheckJRuby), status.Services[0].Answer
		switch {
		case f.Pool == nil || !f.Checked.After(since):
			return fmt.Errorf("%s: the JRubies have not been counted since", after)
		case answer.Code == http.StatusOK:
			return nil
		case time.Since(since) < 2*time.Second:
			return fmt.Errorf("%s: %d %s", after, answer.Code, answer.Body)
		case f.Pool.Ready() < f.Pool.Size:
			r.TB.Errorf("%s: a healthy master with %s is answered %d %s", after, f.Value, answer.Code, answer.Body)
		}
		return nil
	})
}

// waitForReplacement makes requests until pmcheck sees a JRuby missing.
func waitForReplacement(r *lab.Site, s *lab.PuppetServer) {
	r.TB.Helper()
	lab.WaitFor(r.TB, 2*time.Minute, 200*time.Millisecond, func() error {
		pool := lab.Finding(r.Status(), check.CheckJRuby).Pool
		switch {
		case pool == nil:
			return fmt.Errorf("the JRubies have not been counted")
		case pool.Ready() < pool.Size:
			return nil
		}
		_, _, err := s.Get(agentName, "/puppet/v3/environments")
		return fmt.Errorf("%d of %d JRubies are ready (%v)", pool.Ready(), pool.Size, err)
	})
}
