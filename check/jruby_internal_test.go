package check

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func newPoolCheck() *poolCheck {
	return &poolCheck{
		JRubySettings: All().JRuby(),
		seenPool:      new(seenPool),
	}
}

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

func TestJRubyConcludesFromSuccessivePools(t *testing.T) {
	type conclusion struct {
		state  State
		health Health
		reason Reason
	}
	type reading struct {
		at   time.Duration // after the first
		pool *Pool
		want conclusion
	}
	var (
		fine     = conclusion{StateOK, "", OK}
		starting = conclusion{StateBad, Warming, JRubyWarming}
		flushed  = conclusion{StateWarn, Busy, JRubyWarming}
		busy     = conclusion{StateWarn, Busy, JRubyBusy}
		stuck    = conclusion{StateBad, Unhealthy, JRubyStuck}
		held     = conclusion{StateWarn, Busy, JRubyLocked}
		locked   = conclusion{StateBad, Unhealthy, JRubyLocked}
	)
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	lock := func(p *Pool, how string, since time.Duration) *Pool {
		p.Lock, p.LockSince = how, start.Add(since)
		return p
	}
	idle := func(size, free int) *Pool { return pool(size, free, nil, nil) }
	ages := func(a ...float64) []float64 { return a }
	gaveUp := func(loan float64, n int64) *Pool { p := pool(1, 0, ages(loan), nil); p.Timeouts = n; return p }
	const second, minute = time.Second, time.Minute
	for _, tt := range []struct {
		name     string
		readings []reading
	}{
		{"a start: one of three, then all", []reading{
			{0, idle(3, 1), starting},
			{3 * second, pool(3, 1, ages(1), nil), starting},
			{6 * second, pool(3, 2, ages(1), nil), fine},
		}},
		{"a start under load stays warming", []reading{
			{0, pool(3, 0, ages(1), ages(1, 1)), starting},
			{6 * second, pool(3, 0, ages(1, 1, 1), ages(1)), busy},
		}},
		{"one replaced at runtime", []reading{
			{0, idle(3, 3), fine},
			{5 * second, pool(3, 1, ages(1), nil), fine},
		}},
		{"a flush: none, then one of three, then all", []reading{
			{0, idle(3, 3), fine},
			{5 * second, pool(3, 0, nil, ages(1)), flushed},
			{8 * second, idle(3, 1), flushed},
			{14 * second, idle(3, 3), fine},
			{20 * second, idle(3, 2), fine},
		}},
		{"one does not come back after a flush, and the next is a new one", []reading{
			{0, idle(3, 3), fine},
			{minute, pool(3, 0, nil, ages(1)), flushed},
			{2 * minute, idle(3, 2), flushed},
			{30 * minute, idle(3, 2), flushed},
			{31 * minute, idle(3, 0), flushed},
		}},
		{"warming ends after warming_max", []reading{
			{0, idle(3, 2), starting},
			{5*minute - second, idle(3, 2), starting},
			{5 * minute, idle(3, 2), flushed},
			{6 * minute, idle(3, 3), fine},
		}},
		{"a flush during the start", []reading{
			{0, idle(3, 2), starting},
			{5 * second, pool(3, 0, nil, ages(1)), starting},
			{10 * second, idle(3, 3), fine},
		}},
		{"none ready for stuck_after, then one", []reading{
			{0, idle(3, 3), fine},
			{minute, pool(3, 0, nil, ages(1)), flushed},
			{3*minute - second, pool(3, 0, nil, ages(119)), flushed},
			{3 * minute, idle(3, 0), stuck},
			{11 * minute, idle(3, 1), flushed},
		}},
		{"none ready after a start", []reading{
			{0, idle(3, 0), starting},
			{10 * minute, idle(3, 0), starting},
		}},
		{"saturated, then stuck, then back", []reading{
			{0, pool(2, 0, ages(10, 5), ages(4)), busy},
			{minute, pool(2, 0, ages(70, 65), ages(64)), busy},
			{115 * second, pool(2, 0, ages(125, 120), ages(119)), busy},
			{116 * second, pool(2, 0, ages(126, 121), ages(120)), stuck},
			{130 * second, pool(2, 0, ages(140, 1), ages(3)), busy},
			{140 * second, pool(2, 1, ages(150), nil), fine},
		}},
		{"stuck, and the requests that wait give up", []reading{
			{0, pool(1, 0, ages(130), ages(120)), stuck},
			{second, gaveUp(131, 1), stuck},
			{2 * second, pool(1, 0, ages(132), nil), stuck},
			{20 * minute, pool(1, 0, ages(1320), ages(1)), stuck},
			{21 * minute, pool(1, 1, nil, nil), fine},
			{22 * minute, pool(1, 0, ages(59), nil), fine},
		}},
		{"requests give up before they have waited for stuck_after", []reading{
			{0, pool(1, 0, ages(60), ages(10)), busy},
			{20 * second, gaveUp(80, 1), busy},
			{60 * second, gaveUp(120, 1), fine},
			{80 * second, gaveUp(140, 2), stuck},
			{100 * second, gaveUp(160, 2), stuck},
		}},
		{"stuck, and a JRuby comes back to the next request", []reading{
			{0, pool(2, 0, ages(130, 120), ages(120)), stuck},
			{10 * second, pool(2, 0, ages(140, 130), nil), stuck},
			{20 * second, pool(2, 0, ages(150, 9), nil), fine},
		}},
		{"stuck, then flushed: new JRubies are lent beside the old loans", []reading{
			{0, pool(1, 0, ages(130), ages(120)), stuck},
			{10 * second, pool(1, 0, ages(130, 1), nil), fine},
		}},
		{"stuck, then flushed: none is left, then one", []reading{
			{0, pool(1, 0, ages(130), ages(120)), stuck},
			{10 * second, idle(1, 0), stuck},
			{20 * second, idle(1, 1), fine},
		}},
		{"stuck, and the master's clock runs a second behind its answer", []reading{
			{0, pool(1, 0, ages(130), ages(120)), stuck},
			{minute, pool(1, 0, ages(179), nil), stuck},
		}},
		{"one JRuby with a long compile, and requests that come and go", []reading{
			{0, pool(1, 0, ages(60), nil), fine},
			{10 * minute, pool(1, 0, ages(660), ages(119)), busy},
			{11 * minute, pool(1, 0, ages(720), nil), fine},
			{30 * minute, pool(1, 0, ages(1860), ages(1)), busy},
			{31 * minute, pool(1, 1, nil, nil), fine},
		}},
		{"long loans with no request waiting", []reading{{0, pool(2, 0, ages(900, 800), nil), fine}}},
		{"waiting with one free", []reading{{0, pool(2, 1, ages(900), ages(1)), fine}}},
		{"stuck is worse than warming", []reading{{0, pool(3, 0, ages(600), ages(500)), stuck}}},
		{"locked for a moment, then too long", []reading{
			{minute, lock(pool(2, 2, nil, ages(1)), "acquired", 59*second), held},
			{3 * minute, lock(pool(2, 2, nil, ages(1)), "requested", minute), locked},
			{4 * minute, idle(2, 2), fine},
		}},
		{"locked during the start", []reading{
			{0, lock(idle(8, 1), "acquired", -second), starting},
			{2 * minute, lock(idle(8, 2), "acquired", 0), locked},
			{3 * minute, lock(idle(8, 8), "acquired", 2*minute), held},
		}},
		{"a lock of unknown age", []reading{{minute, &Pool{Size: 1, Free: 1, Lock: "acquired"}, held}}},
		{"an unknown lock state", []reading{{0, lock(idle(1, 1), "sideways", -time.Hour), fine}}},
		{"borrow timeouts and hits of the limit count when they grow", []reading{
			{0, &Pool{Size: 1, Free: 1, Timeouts: 7, LimitHits: 3}, fine},
			{5 * second, &Pool{Size: 1, Free: 1, Timeouts: 9, LimitHits: 3}, busy},
			{10 * second, &Pool{Size: 1, Free: 1, Timeouts: 9, LimitHits: 4}, busy},
			{15 * second, &Pool{Size: 1, Free: 1}, fine},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := newPoolCheck()
			for i, l := range tt.readings {
				f := j.judge(l.pool, start.Add(l.at))
				j.last = l.pool
				if got := (conclusion{f.State, f.Health, f.Reason}); got != l.want || (got == fine) != (f.Detail == "") {
					t.Fatalf("reading %d: %v, want %v (%s)", i+1, got, l.want, f.Detail)
				}
			}
		})
	}
}

// TestPoolFollowsTheResults: a definite fault may be a restart, silence is none, and a pool that is stuck stays stuck
// until a JRuby comes back, or the process has ended.
func TestPoolFollowsTheResults(t *testing.T) {
	now := time.Now()
	answered := func(p *Pool) Result { return Result{Asked: now, Pool: p} }
	fault := func(reason Reason) Result {
		return Result{Asked: now, Fault: &Fault{Reason: reason}}
	}
	by := func(listener string, r Result) Result { r.Listener = listener; return r }
	refused, silent := fault(puppetclient.Refused), fault(puppetclient.Timeout)
	denied := Result{Asked: now, Denied: &Fault{Reason: AuthDenied}}
	old, young := pool(3, 2, nil, nil), pool(3, 2, nil, nil)
	old.LockSince, young.LockSince = now.Add(-5*time.Minute), now.Add(-5*time.Minute+1)
	locked := pool(3, 3, nil, nil)
	locked.Lock, locked.LockSince = "acquired", now.Add(-time.Hour)
	full, stuck := pool(3, 3, nil, nil), pool(3, 0, []float64{600, 600, 600}, []float64{500})
	alone := pool(3, 0, []float64{900, 900, 900}, nil) // the requests that waited have given up
	noPool := answered(nil)
	for _, tt := range []struct {
		name    string
		results []Result
		state   State
		health  Health
	}{
		{"never answered", []Result{refused}, "", ""},
		{"a Ruby master", []Result{{Asked: now, PoolErr: &Fault{Reason: NoStatusAPI}}}, "", ""},
		{"one of three is missing, of unknown age", []Result{answered(pool(3, 2, nil, nil))}, StateBad, Warming},
		{"in a young server", []Result{answered(young)}, StateBad, Warming},
		{"in an old server", []Result{answered(old)}, StateWarn, Busy},
		{"after a restart", []Result{answered(full), refused, answered(pool(3, 2, nil, nil))}, StateBad, Warming},
		{"after a web page", []Result{answered(full), fault(puppetclient.BadResponse), answered(old)}, StateWarn, Busy},
		{"after a timeout", []Result{answered(full), silent, answered(pool(3, 2, nil, nil))}, StateOK, ""},
		{"after a restart that no probe met",
			[]Result{by("1", answered(full)), by("2", answered(pool(3, 2, nil, nil)))}, StateBad, Warming},
		{"a pool that cannot be read", []Result{answered(full), noPool}, StateNone, ""},
		{"a pool that is not seen", []Result{answered(full), fault(puppetclient.ResponseTooLong)}, StateWarn, ""},

		{"nobody waits", []Result{answered(stuck), answered(alone)}, StateBad, Unhealthy},
		{"nobody has waited", []Result{answered(alone)}, StateOK, ""},
		{"stuck, then silent", []Result{answered(stuck), silent}, StateBad, Unhealthy},
		{"stuck, then killed", []Result{answered(stuck), refused}, StateNone, ""},
		{"stuck, then restarted", []Result{answered(stuck), refused, answered(full)}, StateOK, ""},
		{"stuck, then started again at once", []Result{by("1", answered(stuck)), by("2", noPool)}, StateNone, ""},
		{"stuck, then any other fault", []Result{answered(stuck), fault(HTTPError), answered(alone)}, StateBad,
			Unhealthy},
		{"stuck, then without a pool", []Result{answered(stuck), noPool}, StateBad, Unhealthy},
		{"stuck, then without a pool for a while", []Result{answered(stuck), noPool, answered(alone)}, StateBad, Unhealthy},
		{"stuck, then denied", []Result{answered(stuck), denied}, StateBad, Unhealthy},
		{"stuck, then not seen", []Result{answered(stuck), fault(puppetclient.ResponseTooLong)}, StateBad, Unhealthy},
		{"stuck, then back without a pool between", []Result{answered(stuck), noPool, answered(full)}, StateOK, ""},
		{"locked, then without a pool", []Result{answered(locked), noPool}, StateBad, Unhealthy},
		{"warming, then without a pool", []Result{answered(young), noPool}, StateBad, Warming},
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

// TestAWarmingPoolThatIsNotSeenHasStartedInTheEnd: with nothing to see, jruby.warming_max is what ends it.
func TestAWarmingPoolThatIsNotSeenHasStartedInTheEnd(t *testing.T) {
	start, j := time.Now(), newPoolCheck()
	j.observe(Result{Pool: pool(3, 2, nil, nil)}, start)
	for after, want := range map[time.Duration]Health{j.WarmingMax - 1: Warming, j.WarmingMax: ""} {
		if got := j.withoutPool(Result{}, start.Add(after)); got.Health != want {
			t.Errorf("after %s: %q, want %q", after, got.Health, want)
		}
	}
}

// TestAServerThatStartedBeforeTheClockWasSetBackIsYoung, and no younger.
func TestAServerThatStartedBeforeTheClockWasSetBackIsYoung(t *testing.T) {
	start, j := time.Now(), newPoolCheck()
	p := pool(3, 2, nil, nil)
	p.LockSince = start.Add(time.Hour)
	for _, tt := range []struct {
		after time.Duration
		want  Health
	}{{0, Warming}, {j.WarmingMax - 1, Warming}, {j.WarmingMax, Busy}} {
		if got := j.observe(Result{Pool: p}, start.Add(tt.after)); got.Health != tt.want {
			t.Errorf("after %s: %q, want %q", tt.after, got.Health, tt.want)
		}
	}
}

// TestANewDaemonKnowsAPoolThatWasComplete: after a deployment, which locks the pool, a JRuby that is replaced looks
// like one that starts.
func TestANewDaemonKnowsAPoolThatWasComplete(t *testing.T) {
	now := time.Now()
	observe := func(seen *Seen) Observer { return jruby().Observe(jruby().Settings, seen) }
	by := func(listener string, p *Pool) Result {
		p.LockSince = now.Add(-time.Minute)
		return Result{Pool: p, Listener: listener}
	}
	for _, tt := range []struct {
		name     string
		process  string // that the last daemon has seen
		was      *Pool
		listener string // now
		want     Health
	}{
		{"the same process", "1", pool(4, 4, nil, nil), "1", Busy},
		{"another process", "1", pool(4, 4, nil, nil), "2", Warming},
		{"a process that was not known", "", pool(4, 4, nil, nil), "1", Warming},
		{"a process that is not known now", "1", pool(4, 4, nil, nil), "", Warming},
		{"it was not complete", "1", pool(4, 2, nil, nil), "1", Warming},
	} {
		first, next := new(Seen), new(Seen)
		observe(first)(by(tt.process, tt.was), now)
		next.Recall(first.Pool())
		if got := observe(next)(by(tt.listener, pool(4, 3, nil, nil)), now.Add(time.Second)); got.Health != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got.Health, tt.want)
		}
	}

	restarted := new(Seen)
	restarted.Recall(PoolMemory{Complete: true, Listener: "1"})
	o := observe(restarted)
	o(Result{Fault: &Fault{Reason: puppetclient.Refused}}, now)
	if got := o(by("1", pool(4, 3, nil, nil)), now); got.Health != Warming { // a forwarder has its port, for example
		t.Errorf("it has refused a connection since: %q, want %q", got.Health, Warming)
	}
}

// TestANewDaemonGoesOnFromAStuckPool: it was stuck, so it is until a JRuby comes back, or another process listens.
func TestANewDaemonGoesOnFromAStuckPool(t *testing.T) {
	now := time.Now()
	first := new(Seen)
	observe := func(seen *Seen) Observer { return jruby().Observe(jruby().Settings, seen) }
	alone := pool(1, 0, []float64{900}, nil)
	by := func(listener string, r Result) Result { r.Listener = listener; return r }
	observe(first)(by("1", Result{Pool: pool(1, 0, []float64{600}, []float64{500})}), now)
	left := first.Pool()
	if want := (PoolMemory{Complete: true, StuckSince: now, Listener: "1"}); left != want {
		t.Fatalf("%+v, want %+v", left, want)
	}

	later := now.Add(5 * time.Minute)
	for _, tt := range []struct {
		name string
		left PoolMemory
		r    Result
		want Health
	}{
		{"nobody waits", left, by("1", Result{Pool: alone}), Unhealthy},
		{"nothing was left", PoolMemory{}, by("1", Result{Pool: alone}), ""},
		{"the process is not known", left, Result{Pool: alone}, Unhealthy},
		{"another process", left, by("2", Result{Pool: alone}), ""},
		{"no pool", left, by("1", Result{}), Unhealthy},
		{"a Ruby master now", left, by("2", Result{PoolErr: &Fault{Reason: NoStatusAPI}}), ""},
		{"silent", left, by("1", Result{Fault: &Fault{Reason: puppetclient.Timeout}}), Unhealthy},
		{"refused", left, Result{Fault: &Fault{Reason: puppetclient.Refused}}, ""},
		{"free", left, by("1", Result{Pool: pool(1, 1, nil, nil)}), ""},
		{"lent since", left, by("1", Result{Pool: pool(1, 0, []float64{299}, nil)}), ""},
		{"found by a clock that ran ahead", PoolMemory{StuckSince: later.Add(time.Hour)}, Result{Pool: alone}, Unhealthy},
	} {
		next := new(Seen)
		next.Recall(tt.left)
		got := observe(next)(tt.r, later)
		if got.Health != tt.want {
			t.Errorf("%s: %q (%s), want %q", tt.name, got.Health, got.Detail, tt.want)
		}
		if leaves := !next.Pool().StuckSince.IsZero(); leaves != (tt.want == Unhealthy) {
			t.Errorf("%s: leaves %+v to the next", tt.name, next.Pool())
		}
	}
}
