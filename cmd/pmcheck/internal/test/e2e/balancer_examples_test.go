//go:build linux

package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// testHeld holds puppet1 and lifts the hold: open sessions continue, and new ones go to
// the other master.
func (e *example) testHeld(mode drain.Mode, status string, within time.Duration) {
	e.t.Helper()
	var old []*session
	for range 4 { // on both of them
		old = append(old, startSession(e.t, e.where("1", "8140")))
	}
	for _, s := range old {
		if !s.carries() {
			e.t.Fatal("no session before the hold")
		}
	}
	e.sites[0].Hold(mode)
	e.waitFor(string(mode), status, within, "puppet/puppet1")
	before := e.haproxy.Stat("puppet", "puppet1").SessionsTotal
	for range 4 {
		if !startSession(e.t, e.where("1", "8140")).carries() {
			e.t.Errorf("%s: a new session does not work", mode)
		}
	}
	if after := e.haproxy.Stat("puppet", "puppet1").SessionsTotal; after != before {
		e.t.Errorf("%s: %d sessions went to the held master", mode, after-before)
	}
	for _, s := range old {
		if !s.carries() {
			e.t.Errorf("%s: a session was cut off", mode)
		}
	}
	e.sites[0].Hold(drain.Ready)
	e.waitFor("ready", "UP", 8*time.Second, "puppet/puppet1")
}

// testKilled stops puppet1's Puppet Server and starts it again.
func (e *example) testKilled(status string, servers ...string) {
	e.t.Helper()
	e.sites[0].SetMaster(checktest.Stopped)
	e.waitFor("killed", status, 10*time.Second, servers...)
	e.sites[0].SetMaster(checktest.Running)
	e.waitFor("started", "UP", 10*time.Second, servers...)
}

// TestExamples: HAProxy loads the examples for it, and they do what their comments say.
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
		{"split-pools.cfg", "services: [ca]\npuppetdb: {address: localhost:8081}\n",
			(*example).testSplit},
		{"two-balancers.cfg", "", (*example).testReload},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			test.run(newExample(t, test.file, i+1, test.yaml))
		})
	}
}

// testSplit: a fault or a hold in one pool does not change the others.
func (e *example) testSplit() {
	e.t.Helper()
	for _, setting := range []string{`"services: [ca]"`, `"puppetdb: {address: localhost:8081}"`} {
		if !strings.Contains(e.text, setting) {
			e.t.Errorf("the example does not print %s, which this test tries", setting)
		}
	}
	e.start()
	for host, port := range map[string]string{"1": "8140", "2": "8140", "3": "8081"} {
		if !startSession(e.t, e.where(host, port)).carries() {
			e.t.Errorf("192.0.2.%s carries no session", host)
		}
	}
	first := e.sites[0]
	first.Master.SetService("ca", "error")
	e.waitFor("CA in error", "DOWN", 10*time.Second, "puppetca/puppet1")
	first.Master.SetService("ca", "running")
	first.Master.SetPuppetDB(false, true, false)
	if _, status := first.Run("drain", "--hold", "catalogs", "--service", "server"); status != 0 {
		e.t.Errorf("exit status of drain --service server %d, want 0", status)
	}
	e.waitFor("drain --service server", "NOLB", 3*time.Second, "puppet/puppet1")
	e.waitFor("CA running again", "UP", 10*time.Second, "puppetca/puppet1")
	e.waitFor("PuppetDB cannot write", "DOWN", 25*time.Second, "puppetdb/puppet1")
	for host, port := range map[string]string{"1": "8140", "2": "8140", "3": "8081"} {
		if !startSession(e.t, e.where(host, port)).carries() {
			e.t.Errorf("192.0.2.%s carries no session while each pool has a master out", host)
		}
	}
	if _, status := first.Run("drain"); status != 7 {
		e.t.Errorf("the exit status of drain, of the only CA, is %d, want 7", status)
	}
}

// testReload: with the state file, a master that is held stays out over a reload of
// HAProxy. Without it, HAProxy assumes UP until the next check.
func (e *example) testReload() {
	e.t.Helper()
	e.writeState("1\n") // the version line of a file without servers
	e.start()
	e.testHeld(drain.Drain, "NOLB", 3*time.Second)
	e.sites[0].Hold(drain.Drain)
	e.waitFor("drain", "NOLB", 3*time.Second, "puppet/puppet1")

	e.writeState(e.haproxy.Admin("show servers state"))
	e.haproxy.Reload(e.text)
	if status := e.haproxy.Stat("puppet", "puppet1").Status; !strings.HasPrefix(status, "NOLB") { // or NOLB 1/3
		e.t.Errorf("after a reload HAProxy says %q of a master that is held, want NOLB", status)
	}
	// The first check may have come before the line above, but HAProxy logs this earlier.
	if want := "puppet1 is stopping, changed from server-state after a reload"; !strings.Contains(e.haproxy.Log(), want) {
		e.t.Errorf("HAProxy did not log %q", want)
	}
	e.sites[0].Hold(drain.Ready)
	e.waitFor("ready", "UP", 8*time.Second, "puppet/puppet1")
}

// writeState writes the file that the example names.
func (e *example) writeState(content string) {
	e.t.Helper()
	_, rest, _ := strings.Cut(e.text, "server-state-file ")
	path, _, _ := strings.Cut(rest, "\n")
	lab.Write(e.t, path, content)
}
