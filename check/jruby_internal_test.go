package check

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func newPoolCheck() *poolCheck { return &poolCheck{JRubySettings: Settings[JRubySettings](All())} }

// pool returns a pool with loans of these ages, in seconds.
func pool(size, free int, borrowed, waiting []float64) *Pool {
	loans := func(ages []float64) (list []Loan) {
		for _, age := range ages {
			list = append(list, Loan{Request: "GET /", Seconds: age})
		}
		return list
	}
	return &Pool{Size: size, Free: free, Borrowed: loans(borrowed), Waiting: loans(waiting), Lock: "not-in-use"}
}

// look is one look at a pool, some time after the first.
type look struct {
	at     time.Duration
	pool   *Pool
	state  State
	health Health
	reason Reason
}

func TestJRubyConcludesFromSuccessivePools(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	locked := func(p *Pool, how string, since time.Duration) *Pool {
		p.Lock, p.LockSince = how, start.Add(since)
		return p
	}
	counted := func(p *Pool, timeouts, hits int64) *Pool {
		p.Timeouts, p.LimitHits = timeouts, hits
		return p
	}
	ages := func(a ...float64) []float64 { return a }
	none := ages()
	const second, minute = time.Second, time.Minute
	tests := []struct {
		name  string
		looks []look
	}{
		{"a start: one of three, then all", []look{
			{0, pool(3, 1, none, none), StateBad, Warming, JRubyWarming},
			{3 * second, pool(3, 1, ages(1), none), StateBad, Warming, JRubyWarming},
			{6 * second, pool(3, 2, ages(1), none), StateOK, "", OK},
		}},
		{"complete with all at work", []look{{0, pool(2, 0, ages(1, 1), none), StateOK, "", OK}}},
		{"a start under load stays warming", []look{
			{0, pool(3, 0, ages(1), ages(1, 1)), StateBad, Warming, JRubyWarming},
			{6 * second, pool(3, 0, ages(1, 1, 1), ages(1)), StateWarn, Busy, JRubyBusy},
		}},
		{"one replaced at runtime", []look{
			{0, pool(3, 3, none, none), StateOK, "", OK},
			{5 * second, pool(3, 1, ages(1), none), StateOK, "", OK},
			{10 * second, pool(3, 3, none, none), StateOK, "", OK},
		}},
		{"a flush: none, then one of three, then all", []look{
			{0, pool(3, 3, none, none), StateOK, "", OK},
			{5 * second, pool(3, 0, none, ages(1)), StateWarn, Busy, JRubyWarming},
			{8 * second, pool(3, 1, none, none), StateWarn, Busy, JRubyWarming},
			{14 * second, pool(3, 3, none, none), StateOK, "", OK},
			{20 * second, pool(3, 2, none, none), StateOK, "", OK},
		}},
		{"a flush of a pool of one", []look{
			{0, pool(1, 0, ages(9), none), StateOK, "", OK},
			{5 * second, pool(1, 0, none, ages(1)), StateWarn, Busy, JRubyWarming},
			{10 * second, pool(1, 0, ages(1), none), StateOK, "", OK},
		}},
		{"one does not come back after a flush", []look{
			{0, pool(3, 3, none, none), StateOK, "", OK},
			{minute, pool(3, 0, none, ages(1)), StateWarn, Busy, JRubyWarming},
			{2 * minute, pool(3, 2, none, none), StateWarn, Busy, JRubyWarming},
			{30 * minute, pool(3, 2, none, none), StateWarn, Busy, JRubyWarming},
			{31 * minute, pool(3, 0, none, none), StateWarn, Busy, JRubyWarming},
		}},
		{"one flush after the other", []look{
			{0, pool(3, 3, none, none), StateOK, "", OK},
			{minute, pool(3, 0, none, ages(1)), StateWarn, Busy, JRubyWarming},
			{2 * minute, pool(3, 1, none, none), StateWarn, Busy, JRubyWarming},
			{3 * minute, pool(3, 0, none, ages(1)), StateWarn, Busy, JRubyWarming},
			{5*minute - second, pool(3, 0, none, ages(1)), StateWarn, Busy, JRubyWarming},
		}},
		{"warming ends after warming_max", []look{
			{0, pool(3, 2, none, none), StateBad, Warming, JRubyWarming},
			{5*minute - second, pool(3, 2, none, none), StateBad, Warming, JRubyWarming},
			{5 * minute, pool(3, 2, none, none), StateWarn, Busy, JRubyWarming},
			{6 * minute, pool(3, 3, none, none), StateOK, "", OK},
		}},
		{"a flush after one was missing for a long time", []look{
			{0, pool(3, 2, none, none), StateBad, Warming, JRubyWarming},
			{6 * minute, pool(3, 2, none, none), StateWarn, Busy, JRubyWarming},
			{7 * minute, pool(3, 0, none, ages(1)), StateWarn, Busy, JRubyWarming},
			{8 * minute, pool(3, 1, none, none), StateWarn, Busy, JRubyWarming},
		}},
		{"a flush during the start", []look{
			{0, pool(3, 2, none, none), StateBad, Warming, JRubyWarming},
			{5 * second, pool(3, 0, none, ages(1)), StateBad, Warming, JRubyWarming},
			{10 * second, pool(3, 1, none, none), StateBad, Warming, JRubyWarming},
			{15 * second, pool(3, 3, none, none), StateOK, "", OK},
		}},
		{"none ready for stuck_after, then one", []look{
			{0, pool(3, 3, none, none), StateOK, "", OK},
			{minute, pool(3, 0, none, ages(1)), StateWarn, Busy, JRubyWarming},
			{3*minute - second, pool(3, 0, none, ages(119)), StateWarn, Busy, JRubyWarming},
			{3 * minute, pool(3, 0, none, ages(120)), StateBad, Unhealthy, JRubyStuck},
			{10 * minute, pool(3, 0, none, none), StateBad, Unhealthy, JRubyStuck},
			{11 * minute, pool(3, 1, none, none), StateWarn, Busy, JRubyWarming},
		}},
		{"none ready after a start", []look{
			{0, pool(3, 0, none, none), StateBad, Warming, JRubyWarming},
			{10 * minute, pool(3, 0, none, ages(540)), StateBad, Warming, JRubyWarming},
		}},
		{"saturated, then stuck, then back", []look{
			{0, pool(2, 0, ages(10, 5), ages(4)), StateWarn, Busy, JRubyBusy},
			{minute, pool(2, 0, ages(70, 65), ages(64)), StateWarn, Busy, JRubyBusy},
			{115 * second, pool(2, 0, ages(125, 120), ages(119)), StateBad, Unhealthy, JRubyStuck},
			{130 * second, pool(2, 0, ages(140, 1), ages(3)), StateWarn, Busy, JRubyBusy},
			{140 * second, pool(2, 1, ages(150), none), StateOK, "", OK},
		}},
		{"long loans with no request waiting", []look{{0, pool(2, 0, ages(900, 800), none), StateOK, "", OK}}},
		{"an old loan beside a young one", []look{{0, pool(2, 0, ages(900, 3), ages(2)), StateWarn, Busy, JRubyBusy}}},
		{"waiting with one free", []look{{0, pool(2, 1, ages(900), ages(1)), StateOK, "", OK}}},
		{"stuck is worse than warming", []look{{0, pool(3, 0, ages(600), ages(500)), StateBad, Unhealthy, JRubyStuck}}},
		{"locked for a moment, then too long", []look{
			{minute, locked(pool(2, 2, none, ages(1)), "acquired", 59*second), StateWarn, Busy, JRubyLocked},
			{3 * minute, locked(pool(2, 2, none, ages(1)), "acquired", minute), StateBad, Unhealthy, JRubyLocked},
			{4 * minute, pool(2, 2, none, none), StateOK, "", OK},
		}},
		{"a lock that waits for its turn", []look{
			{minute, locked(pool(2, 1, ages(50), ages(40)), "requested", 20*second), StateWarn, Busy, JRubyLocked},
			{3 * minute, locked(pool(2, 1, ages(170), ages(160)), "requested", 20*second), StateBad, Unhealthy, JRubyLocked},
		}},
		{"locked during the start", []look{
			{0, locked(pool(8, 1, none, none), "acquired", -second), StateBad, Warming, JRubyWarming},
			{minute, locked(pool(8, 2, none, none), "requested", -second), StateBad, Warming, JRubyWarming},
			{2 * minute, locked(pool(8, 2, none, none), "acquired", 0), StateBad, Unhealthy, JRubyLocked},
			{3 * minute, locked(pool(8, 8, none, none), "acquired", 2*minute), StateWarn, Busy, JRubyLocked},
			{4 * minute, locked(pool(8, 1, none, none), "acquired", 4*minute), StateWarn, Busy, JRubyLocked},
		}},
		{"a lock of unknown age", []look{{minute, &Pool{Size: 1, Free: 1, Lock: "acquired"}, StateWarn, Busy, JRubyLocked}}},
		{"a lock from the future", []look{{0, locked(pool(1, 1, none, none), "acquired", minute), StateWarn, Busy,
			JRubyLocked}}},
		{"an unknown lock state", []look{{0, locked(pool(1, 1, none, none), "sideways", -time.Hour), StateOK, "", OK}}},
		{"borrow timeouts count when they grow", []look{
			{0, counted(pool(1, 1, none, none), 7, 0), StateOK, "", OK},
			{5 * second, counted(pool(1, 1, none, none), 9, 0), StateWarn, Busy, JRubyBusy},
			{10 * second, counted(pool(1, 1, none, none), 9, 0), StateOK, "", OK},
			{15 * second, counted(pool(1, 1, none, none), 0, 0), StateOK, "", OK},
		}},
		{"queue limit hits count when they grow", []look{
			{0, counted(pool(1, 1, none, none), 0, 3), StateOK, "", OK},
			{5 * second, counted(pool(1, 1, none, none), 0, 4), StateWarn, Busy, JRubyBusy},
			{10 * second, counted(pool(1, 1, none, none), 0, 4), StateOK, "", OK},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := newPoolCheck()
			for i, l := range tt.looks {
				got := j.judge(l.pool, start.Add(l.at))
				j.last = l.pool
				if got.State != l.state || got.Health != l.health || got.Reason != l.reason {
					t.Fatalf("look %d: %s, %q, %s; want %s, %q, %s (%s)", i+1, got.State, got.Health, got.Reason, l.state, l.health,
						l.reason, got.Detail)
				}
				if (got.State == StateOK) != (got.Detail == "") {
					t.Errorf("look %d: state %s with the detail %q", i+1, got.State, got.Detail)
				}
			}
		})
	}
}

// TestPoolFollowsTheResults: a definite fault may be a restart, silence is none.
func TestPoolFollowsTheResults(t *testing.T) {
	now := time.Now()
	answered := func(p *Pool) Result { return Result{Asked: now, Pool: p} }
	fault := func(reason Reason) Result {
		return Result{Asked: now, Fault: &Fault{Reason: reason}}
	}
	refused, silent := fault(puppetclient.Refused), fault(puppetclient.Timeout)
	old, young := pool(3, 2, nil, nil), pool(3, 2, nil, nil)
	old.LockSince, young.LockSince = now.Add(-time.Hour), now.Add(-time.Minute)
	full, stuck := pool(3, 3, nil, nil), pool(3, 0, []float64{600, 600, 600}, []float64{500})
	for _, tt := range []struct {
		name    string
		results []Result
		state   State
		health  Health
	}{
		{"never answered", []Result{refused}, StateNone, ""},
		{"silent, as far as it is remembered", []Result{silent}, "", ""},
		{"one of three is missing, of unknown age", []Result{answered(pool(3, 2, nil, nil))}, StateBad, Warming},
		{"in a young server", []Result{answered(young)}, StateBad, Warming},
		{"in an old server", []Result{answered(old)}, StateWarn, Busy},
		{"after a restart", []Result{answered(full), refused, answered(pool(3, 2, nil, nil))}, StateBad, Warming},
		{"after a web page", []Result{answered(full), fault(puppetclient.BadAnswer), answered(old)}, StateWarn, Busy},
		{"after a timeout", []Result{answered(full), silent, answered(pool(3, 2, nil, nil))}, StateOK, ""},
		{"stuck, then silent", []Result{answered(stuck), silent}, StateBad, Unhealthy},
		{"stuck, then killed", []Result{answered(stuck), refused}, StateNone, ""},
		{"killed, then silent", []Result{answered(stuck), refused, silent}, StateNone, ""},
		{"a pool that cannot be read", []Result{answered(stuck), answered(nil)}, StateNone, ""},
	} {
		j, got := newPoolCheck(), Finding{}
		for _, r := range tt.results {
			got = j.observe(r, now)
		}
		if got.State != tt.state || got.Health != tt.health {
			t.Errorf("%s: %s, %q; want %s, %q", tt.name, got.State, got.Health, tt.state, tt.health)
		}
	}
}

func TestThresholdsAreSettable(t *testing.T) {
	now := time.Now()
	j := newPoolCheck()
	j.StuckAfter = 3 * time.Second
	if got := j.judge(pool(1, 0, []float64{3}, []float64{1}), now); got.Reason != JRubyStuck {
		t.Errorf("%s after three seconds, want %s", got.Reason, JRubyStuck)
	}
	j = newPoolCheck()
	j.WarmingMax = time.Second
	j.judge(pool(2, 1, nil, nil), now)
	if got := j.judge(pool(2, 1, nil, nil), now.Add(time.Second)); got.Health != Busy {
		t.Errorf("%q at the end of warming, want busy", got.Health)
	}
}
