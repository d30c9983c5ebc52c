//go:build linux

package e2e_test

import (
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// testOverflow: agents go to the other site while every master here is saturated, stay
// here if that one is saturated too, and come back.
func (e *example) testOverflow() {
	e.t.Helper()
	e.startMaster("21", "")
	e.start()
	here, there := e.sites[:2], e.sites[2]
	e.assertNewAgentsGoTo("here-free/puppet1", "here-free/puppet2")
	old := startSession(e.t, e.where("1", "8140"))

	saturate(here[0])
	e.waitFor("saturated", "DOWN", 20*time.Second, "here-free/puppet1")
	e.assertNewAgentsGoTo("here-free/puppet2")
	here[1].WaitBalancer(func(b lab.Balancer) bool { return b.BusyCode == 503 && b.Last() }, 5*time.Second)
	if out, status := here[1].Run("drain"); status != 0 { // the other one is only busy
		e.t.Errorf("drain of the last master with room: exit status %d\n%s", status, out)
	}
	e.waitFor("drained", "NOLB", 5*time.Second, "here-free/puppet2", "here/puppet2")
	here[1].MustRun("ready")
	e.waitFor("ready", "UP", 8*time.Second, "here-free/puppet2", "here/puppet2")
	saturate(here[1])
	e.waitFor("saturated", "DOWN", 20*time.Second, "here-free/puppet2")
	e.assertNewAgentsGoTo("there-free/puppet3")
	if !old.carries() {
		e.t.Error("a session was cut off when its master became saturated")
	}
	for _, s := range here {
		if code, body, err := s.Ask("/?busy=503"); err != nil || code != 503 || body != "busy: jruby-busy" {
			e.t.Errorf("/?busy=503 is answered %d %q, %v", code, body, err)
		}
		s.WaitAnswer(200, "", time.Second)
	}

	// A hold precedes the code for busy, so HAProxy sees it in the backend that asks
	// without.
	here[0].Hold(drain.Drain)
	e.waitFor("saturated and drained", "NOLB", 5*time.Second, "here/puppet1")
	if out, _ := here[0].Run("status"); !strings.Contains(out, "/?busy=503&drain=404") {
		e.t.Errorf("status does not show what the balancer asks:\n%s", out)
	}
	here[0].Hold(drain.Ready)
	e.waitFor("ready", "UP", 8*time.Second, "here/puppet1")
	if out, status := here[0].Run("ready", "--wait=20s"); status != 0 {
		e.t.Errorf("ready --wait of a saturated master: exit status %d\n%s", status, out)
	}

	saturate(there)
	e.waitFor("saturated", "DOWN", 20*time.Second, "there-free/puppet3")
	e.assertNewAgentsGoTo("here/puppet1", "here/puppet2")

	here[0].Master.SetPool(check.Pool{Size: 4, Free: 4, Lock: "not-in-use"})
	e.waitFor("with room again", "UP", 40*time.Second, "here-free/puppet1")
	e.assertNewAgentsGoTo("here-free/puppet1")
}

// saturate lets all JRubies of a master be at work, and requests wait.
func saturate(s *lab.Site) {
	borrowed := make([]check.Loan, 4)
	for i := range borrowed {
		borrowed[i] = check.Loan{Request: "puppet-v3-catalog-/*/", Seconds: 1}
	}
	waiting := []check.Loan{{Request: "puppet-v3-catalog-/*/", Seconds: 5}}
	s.Master.SetPool(check.Pool{Size: 4, Borrowed: borrowed, Waiting: waiting, Lock: "not-in-use"})
}

// assertNewAgentsGoTo starts four sessions and asserts that only these servers, written
// backend/server, get them.
func (e *example) assertNewAgentsGoTo(servers ...string) {
	e.t.Helper()
	total := func() map[string]int {
		stats, err := e.haproxy.Stats()
		if err != nil {
			e.t.Fatal(err)
		}
		got := map[string]int{}
		for _, s := range stats {
			got[s.Backend+"/"+s.Server] = s.SessionsTotal
		}
		return got
	}
	before := total()
	for range 4 {
		if !startSession(e.t, e.where("1", "8140")).carries() {
			e.t.Error("a new session does not work")
		}
	}
	for server, n := range total() {
		if got := n - before[server]; got > 0 && !slices.Contains(servers, server) {
			e.t.Errorf("%d sessions went to %s, want all on %v", got, server, servers)
		}
	}
}
