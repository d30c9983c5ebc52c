package e2e_test

import (
	"io"
	"net/http"
	"slices"
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

// TestPoolExample: HAProxy does what the comments of the example say.
func TestPoolExample(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	e := newExample(t, "pool.cfg", 1)
	e.startMaster("11", "")
	e.startMaster("12", "")
	e.testReload()
	e.testHeld(drain.Maint, "DOWN", 15*time.Second)
	e.testStats()
	e.testReason()
}

// testReason: HAProxy says why a master is DOWN, on the page with its statistics and in its log.
func (e *example) testReason() {
	e.t.Helper()
	const reason = "unhealthy: refused"
	e.sites[0].SetMaster(checktest.Stopped)
	e.waitFor("Puppet Server stopped", "DOWN", 15*time.Second, "puppet/puppet1")
	if said := e.haproxy.Stat("puppet", "puppet1").CheckSaid; said != reason {
		e.t.Errorf("HAProxy's statistics say %q, want %q", said, reason)
	}
	if log := e.haproxy.Log(); !strings.Contains(log, `code: 503, info: "`+reason+`"`) {
		e.t.Errorf("HAProxy's log does not say %q:\n%s", reason, log)
	}
}

// testStats: the page and the metrics are there, and have the masters.
func (e *example) testStats() {
	e.t.Helper()
	for path, want := range map[string]string{
		"/":        ">puppet1<",
		"/metrics": `haproxy_server_status{proxy="puppet",server="puppet1",state="UP"} 1`,
	} {
		resp, err := http.Get("http://127.0.0.1:8404" + path)
		lab.Must(e.t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			e.t.Errorf("%s: %s, %v, lacks %q", path, resp.Status, err, want)
		}
	}
}

// testReload: with the state file, a master that is held stays out over a reload of
// HAProxy. Without it, HAProxy assumes UP until the next check.
func (e *example) testReload() {
	e.t.Helper()
	e.runUnit("ExecStartPre")
	e.start()
	e.assertTurns()
	e.testHeld(drain.Drain, "NOLB", 5*time.Second)
	e.sites[0].Hold(drain.Drain)
	e.waitFor("drain", "NOLB", 5*time.Second, "puppet/puppet1")

	e.runUnit("ExecReload")
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

// TestFailOpenExample: while both masters are unhealthy, both are used; one that is held is not.
func TestFailOpenExample(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	e := newExample(t, "fail-open.cfg", 2)
	e.startMaster("11", "")
	e.startMaster("12", "")
	e.haproxy = lab.StartHAProxy(t, e.text)
	const long = 10 * time.Second
	e.waitFor("start", "UP", long, "puppet/puppet1", "puppet/puppet2")
	e.assertTurns()
	for _, s := range e.sites {
		s.SetMaster(checktest.Stopped)
	}
	e.waitFor("both are unhealthy", "DOWN", long, "puppet/puppet1", "puppet/puppet2")
	e.assertSends("puppet1-open", "puppet2-open")
	e.sites[0].MustRun("drain", "--timeout", "1m")
	e.waitFor("drain", "NOLB", long, "held/puppet1")
	if out, status := e.sites[1].Run("drain", "--timeout", "5s"); status != 7 {
		t.Errorf("a drain of the last server that is used: exit status %d, want 7\n%s", status, out)
	}
	e.assertSends("puppet2-open")
	e.sites[0].MustRun("ready")
	for _, s := range e.sites {
		s.SetMaster(checktest.Running)
	}
	e.waitFor("both are healthy", "UP", long, "puppet/puppet1", "puppet/puppet2")
	e.assertSends("puppet1", "puppet2")
}

// assertSends starts sessions, which must go to these servers and no other.
func (e *example) assertSends(want ...string) {
	e.t.Helper()
	totals := func() map[string]int {
		stats, err := e.haproxy.Stats()
		lab.Must(e.t, err)
		list := map[string]int{}
		for _, s := range stats {
			list[s.Server] += s.SessionsTotal
		}
		return list
	}
	before := totals()
	for range 6 {
		if !startSession(e.t, e.where("1", "8140")).carries() {
			e.t.Errorf("no session, want one with one of %v", want)
		}
	}
	for server, n := range totals() {
		if sent := n > before[server]; sent != slices.Contains(want, server) {
			e.t.Errorf("%s got %d sessions, want some for %v only", server, n-before[server], want)
		}
	}
}
