package check_test

import (
	"context"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
)

func TestJRubyFindingFollowsTheMaster(t *testing.T) {
	m := newMaster(t)
	j := schedule(t, m, func(s *check.JRubySettings) { s.StuckAfter = time.Millisecond })
	ask := func(want check.State, reason check.Reason, questions int64) {
		t.Helper()
		before := m.Questions()
		got := j.Check(context.Background())
		if got.State != want || got.Reason != reason {
			t.Errorf("%s, %s, %q; want %s, %s", got.State, got.Reason, got.Detail, want, reason)
		}
		if asked := m.Questions() - before; asked != questions {
			t.Errorf("asked %d times, want %d", asked, questions)
		}
	}
	ask(check.StateOK, check.OK, 1)
	m.SetPool(check.Pool{Size: 2})
	ask(check.StateWarn, check.JRubyWarming, 2) // a count of zero is confirmed by a second question
	m.SetPool(check.Pool{Size: 2, Free: 1, Borrowed: []check.Loan{{Request: "GET /", Seconds: 5}}})
	ask(check.StateOK, check.OK, 1)
	m.Set(checktest.JRubyStuck)
	for j.Check(t.Context()).Reason != check.JRubyStuck { // a loan younger than 1 ms counts as 0
	}
	m.Set(checktest.Garbage)
	ask(check.StateNone, check.NotKnown, 1)
	m.Set(checktest.Denied)
	ask(check.StateNone, check.NotKnown, 1)
	ask(check.StateNone, check.NotKnown, 2) // once under each name of the service
	m.Set(checktest.Stopped)
	ask(check.StateNone, check.NotKnown, 0)
}

// A master that does not answer is assumed to be starting, unless it has answered since
// its last restart.
func TestSilentMasterMayBeStarting(t *testing.T) {
	m := newMaster(t)
	j := schedule(t, m, func(*check.JRubySettings) {})
	ask := func(want check.Health) {
		t.Helper()
		if got := j.Check(t.Context()); got.State != check.StateNone || got.Health != want {
			t.Errorf("%s, health %q; want unknown, %q", got.State, got.Health, want)
		}
	}
	m.Set(checktest.Stopped)
	ask(check.Warming)
	m.Set(checktest.Running)
	if got := j.Check(t.Context()); got.State != check.StateOK {
		t.Fatalf("%s, %s", got.State, got.Detail)
	}
	m.Set(checktest.Stopped)
	ask("")
	j.Restarted(false)
	ask(check.Warming)
	m.Set(checktest.Denied)
	ask("")
}

func TestJRubyFindsTheServiceOfPE(t *testing.T) {
	m := newMaster(t)
	m.SetAnswer("/status/v1/services/jruby-metrics", 404, "not found")
	m.SetAnswer("/status/v1/services/pe-jruby-metrics", 200,
		`{"status":{"experimental":{"metrics":{"num-jrubies":1,"num-free-jrubies":1,`+
			`"borrowed-instances":[],"requested-instances":[]}}}}`)
	j := schedule(t, m, func(*check.JRubySettings) {})
	for _, questions := range []int64{2, 1} {
		before := m.Questions()
		if got := j.Check(context.Background()); got.State != check.StateOK {
			t.Errorf("%s, %s", got.State, got.Detail)
		}
		if asked := m.Questions() - before; asked != questions {
			t.Errorf("asked %d times, want %d", asked, questions)
		}
	}
}
