package e2e_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// testHeld holds puppet1 and lets it go: sessions that there are go on, new ones
// are carried by the other.
func (e *example) testHeld(mode drain.Mode, status string, within time.Duration) {
	e.t.Helper()
	var old []*session
	for range 4 { // on both of them
		old = append(old, dialSession(e.t, e.where("1", "8140")))
	}
	for _, s := range old {
		if !s.carries() {
			e.t.Fatal("no session before the hold")
		}
	}
	e.masters[0].hold(mode)
	e.await(string(mode), status, within, "puppet/puppet1")
	before := e.haproxy.Stat("puppet", "puppet1").SessionsTotal
	for range 4 {
		if !dialSession(e.t, e.where("1", "8140")).carries() {
			e.t.Errorf("%s: a new session is not carried", mode)
		}
	}
	if after := e.haproxy.Stat("puppet", "puppet1").SessionsTotal; after != before {
		e.t.Errorf("%s: %d sessions went to the held master", mode, after-before)
	}
	for _, s := range old {
		if !s.carries() {
			e.t.Errorf("%s: a session is cut off", mode)
		}
	}
	e.masters[0].hold(drain.Ready)
	e.await("ready", "UP", 8*time.Second, "puppet/puppet1")
}

// testKilled takes puppet1's Puppet Server away.
func (e *example) testKilled(status string, servers ...string) {
	e.t.Helper()
	set(e.t, e.masters[0].master, checktest.Stopped)
	e.await("killed", status, 10*time.Second, servers...)
	set(e.t, e.masters[0].master, checktest.Running)
	e.await("started", "UP", 10*time.Second, servers...)
}

// TestExamples: what is shipped for HAProxy is loaded by it, and does what its
// comments say.
func TestExamples(t *testing.T) {
	lab.Real(t)
	const seconds = time.Second
	for i, test := range []struct {
		file, yaml string
		run        func(*example)
	}{
		{"classic.cfg", "", func(e *example) {
			e.start()
			e.testHeld(drain.Drain, "DOWN", 7*seconds)
			e.testKilled("DOWN", "puppet/puppet1")
		}},
		{"graceful.cfg", "", func(e *example) {
			e.start()
			e.testHeld(drain.Drain, "NOLB", 3*seconds)
			e.testHeld(drain.Maint, "DOWN", 7*seconds)
		}},
		{"agent-check.cfg", "agent: {listen: 'AGENT', weight: true}\n", func(e *example) {
			e.start()
			e.testHeld(drain.Drain, "DRAIN (agent)", 3*seconds)
			e.testHeld(drain.Maint, "MAINT", 3*seconds)
			e.testAgentGone()
		}},
		{"split-pools.cfg", "services: [ca]\npuppetdb: {address: 'PUPPETDB', certname: standin.lab.example, interval: 1s}\n", (*example).testSplit},
		{"two-balancers.cfg", "", (*example).testReload},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			test.run(newExample(t, test.file, i+1, test.yaml))
		})
	}
}

// testAgentGone: the agent's last word stands, and the plain check is there for
// a host on which nobody answers.
func (e *example) testAgentGone() {
	e.t.Helper()
	e.masters[0].hold(drain.Drain)
	e.await("drain", "DRAIN (agent)", 3*time.Second, "puppet/puppet1")
	e.masters[0].kill()
	e.haproxy.WaitStat("puppet", "puppet1", func(s lab.ServerStat) bool { return s.Status == "DOWN" && s.CheckStatus == "L4CON" }, 10*time.Second)
	e.masters[0].start()
	e.await("daemon back", "DRAIN (agent)", 10*time.Second, "puppet/puppet1")
	e.masters[0].hold(drain.Ready)
	e.await("ready", "UP", 10*time.Second, "puppet/puppet1")
}

// testSplit: what concerns one pool leaves the others alone.
func (e *example) testSplit() {
	e.t.Helper()
	e.start()
	for host, port := range map[string]string{"1": "8140", "2": "8140", "3": "8081"} {
		if !dialSession(e.t, e.where(host, port)).carries() {
			e.t.Errorf("192.0.2.%s carries no session", host)
		}
	}
	first := e.masters[0]
	first.master.SetService("ca", "error")
	e.await("CA in error", "DOWN", 10*time.Second, "puppetca/puppet1")
	first.master.SetService("ca", "running")
	first.master.SetPuppetDB(false, true, false)
	if _, status := first.run("drain", "--hold", "catalogs", "--service", "server"); status != 0 {
		e.t.Errorf("drain --service server ends with %d", status)
	}
	e.await("drain --service server", "NOLB", 3*time.Second, "puppet/puppet1")
	e.await("CA well again", "UP", 10*time.Second, "puppetca/puppet1")
	e.await("PuppetDB cannot write", "DOWN", 25*time.Second, "puppetdb/puppet1")
	for host, port := range map[string]string{"1": "8140", "2": "8140", "3": "8081"} {
		if !dialSession(e.t, e.where(host, port)).carries() {
			e.t.Errorf("192.0.2.%s carries no session while each pool lacks something", host)
		}
	}
	if _, status := first.run("drain"); status != 7 {
		e.t.Errorf("to drain the only CA ends with %d, want 7", status)
	}
}

// testReload: with the state file, a master that is held stays out over a reload
// of HAProxy, which otherwise takes it for UP until the next check.
func (e *example) testReload() {
	e.t.Helper()
	e.writeState("1\n") // the version, of a file without servers
	e.start()
	e.testHeld(drain.Drain, "NOLB", 3*time.Second)
	e.masters[0].hold(drain.Drain)
	e.await("drain", "NOLB", 3*time.Second, "puppet/puppet1")

	e.writeState(e.haproxy.Admin("show servers state"))
	e.haproxy.Reload(e.text)
	if status := e.haproxy.Stat("puppet", "puppet1").Status; !strings.HasPrefix(status, "NOLB") { // or NOLB 1/3, on its way
		e.t.Errorf("after a reload HAProxy says %q of a master that is held, want NOLB", status)
	}
	// The first check may have been faster than we were, but this is said before it.
	if want := "puppet1 is stopping, changed from server-state after a reload"; !strings.Contains(e.haproxy.Log(), want) {
		e.t.Errorf("HAProxy did not log %q", want)
	}
	e.masters[0].hold(drain.Ready)
	e.await("ready", "UP", 8*time.Second, "puppet/puppet1")
}

// writeState writes the file that the example names.
func (e *example) writeState(content string) {
	e.t.Helper()
	_, rest, _ := strings.Cut(e.text, "server-state-file ")
	path, _, _ := strings.Cut(rest, "\n")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		e.t.Fatal(err)
	}
}
