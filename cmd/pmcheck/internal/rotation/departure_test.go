package rotation_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

// pair is a master whose balancer has one other server of the same weight.
func pair(at time.Duration, change ...func(*api.Balancer)) api.Status {
	mode := drain.Ready
	s := status(mode, func(s *api.Status) {
		s.Time, s.Started = held().Add(at), held().Add(-time.Hour)
		s.Services[0].Verdict.Health = check.Healthy
	}, asking(func(b *api.Balancer) {
		b.Seen, b.DrainCode = held().Add(at), 404
		b.View, b.UnitWeight = &api.View{State: "UP", Weight: 100, WeightTotal: 200}, 100
		b.OthersWeight, b.OthersSeen = 100, b.Seen
		for _, f := range change {
			f(b)
		}
	}))
	return s
}

// others gives the other servers a weight, which may be below what it was.
func others(weight int) func(*api.Balancer) {
	return func(b *api.Balancer) {
		b.View.WeightTotal = weight
		if b.View.State == "UP" {
			b.View.WeightTotal += b.View.Weight
		}
		b.OthersSeen = held().Add(-time.Second)
	}
}

func state(state string) func(*api.Balancer) {
	return func(b *api.Balancer) { b.View.State = state }
}

// departure draws the first of the windows, which are 6 s long. The hour of the tests
// begins with one.
func departure() *rotation.Departure { return &rotation.Departure{Draw: func(int) int { return 0 }} }

func TestADepartureWaitsForItsTurnAndWindow(t *testing.T) {
	alone := func(b *api.Balancer) {
		others(0)(b)
		b.OthersWeight, b.OthersSeen = 0, time.Time{}
	}
	const start = "slot: may leave at "
	for _, tt := range []struct {
		name   string
		status api.Status
		want   []string
		again  time.Duration // after held; 0: none
	}{
		{"at the beginning of a window", pair(0), []string{}, 0},
		{"at once with a window of its own to come", func() api.Status {
			s := pair(time.Second)
			s.Certname, s.Fleet = "m1", []string{"m1", "m2"}
			return s
		}(), []string{start + held().Add(12*time.Second).Local().Format(time.TimeOnly) +
			", if no other server leaves first"}, 12 * time.Second},
		{"between windows", pair(time.Second), []string{start + held().Add(6*time.Second).Local().Format(time.TimeOnly) +
			", if no other server leaves first"}, 6 * time.Second},
		{"a server is missing", pair(0, others(0)), []string{"turn: balancer lb1 has had no other server for 1s"}, 0},
		{"a master that is alone", pair(time.Second, alone), []string{}, 0},
		{"no balancer sends its view", pair(time.Second, func(b *api.Balancer) { b.View = nil }), []string{}, 0},
		{"a balancer that asked once", pair(0, func(b *api.Balancer) { b.Interval = 0 }),
			[]string{"unseen: lb1 has asked only once"}, 0},
		{"a balancer that may be gone", pair(0, func(b *api.Balancer) { b.Seen = held().Add(-5 * time.Second) }),
			[]string{"unseen: lb1 has not asked for 5s"}, 0},
		{"a daemon that no balancer has asked yet", func() api.Status {
			s := pair(0)
			s.Balancers, s.Started = nil, held().Add(-10*time.Second)
			return s
		}(), []string{"unseen: the daemon has run for 10s, and no balancer has asked yet"}, 0},
		{"a daemon that no balancer asks", func() api.Status {
			s := pair(0)
			s.Balancers, s.Started = nil, held().Add(-15*time.Second)
			return s
		}(), []string{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			list, again := departure().Waits(tt.status)
			assertObstacles(t, list, tt.want)
			if want := held().Add(tt.again); tt.again != 0 && !again.Equal(want) || tt.again == 0 && !again.IsZero() {
				t.Errorf("looks again at %v, want %v", again, want)
			}
		})
	}
}

// A window that has begun may be used for a tenth of it: a quarter of the interval.
func TestALateLookWaitsForTheNextWindow(t *testing.T) {
	d := departure()
	if _, again := d.Waits(pair(5 * time.Second)); !again.Equal(held().Add(6 * time.Second)) {
		t.Fatalf("looks again at %v", again)
	}
	if _, again := d.Waits(pair(6700 * time.Millisecond)); !again.Equal(held().Add(12 * time.Second)) {
		t.Fatalf("a look 700 ms late looks again at %v", again)
	}
	if list, _ := d.Waits(pair(12500 * time.Millisecond)); len(list) != 0 {
		t.Errorf("500 ms after the beginning it waits for %v", list)
	}
}

// A clock that is set back must not move the window hours away.
func TestADepartureChoosesAgainWhenTheClockIsSetBack(t *testing.T) {
	d := departure()
	d.Waits(pair(time.Second))
	setBack := pair(time.Second - time.Hour)
	if _, again := d.Waits(setBack); !again.Equal(held().Add(6*time.Second - time.Hour)) {
		t.Errorf("at %v it looks again at %v", setBack.Time, again)
	}
}

// A server that leaves before the window begins takes the turn.
func TestADepartureThatWasOvertakenDrawsAgain(t *testing.T) {
	d := departure()
	d.Waits(pair(time.Second))
	if list, _ := d.Waits(pair(6*time.Second, others(0))); len(list) != 1 || list[0].Kind != api.ObstacleTurn {
		t.Fatalf("with no other server left it waits for %v", list)
	}
	if _, again := d.Waits(pair(7 * time.Second)); !again.Equal(held().Add(12 * time.Second)) {
		t.Errorf("looks again at %v", again)
	}
}

func TestCollision(t *testing.T) {
	const none = "collision: balancer lb1 has no other server left"
	const lost = "collision: balancer lb1 has lost another server at the same time"
	three := func(weight int) func(*api.Balancer) {
		return func(b *api.Balancer) {
			others(weight)(b)
			b.OthersWeight = 200
		}
	}
	full := func(b *api.Balancer) { three(200)(b); b.OthersSeen = held() }
	hidden := func(b *api.Balancer) { b.DrainCode = 200 }
	for _, tt := range []struct {
		name   string
		before func(*api.Balancer)
		after  time.Duration
		now    []func(*api.Balancer)
		want   []string
	}{
		{"the other one stays", others(100), 3 * time.Second, []func(*api.Balancer){state("NOLB"), others(100)}, nil},
		{"the other one has left too", full, 3 * time.Second, []func(*api.Balancer){state("NOLB"), others(0)},
			[]string{none}},
		{"while it goes down", full, 3 * time.Second, []func(*api.Balancer){state("UP"), others(0)}, []string{none}},
		{"the other one fails during the drain", full, time.Minute, []func(*api.Balancer){state("NOLB"), others(0)},
			[]string{none}},
		{"one of two others has left too", full, 3 * time.Second, []func(*api.Balancer){state("NOLB"), three(100)},
			[]string{lost}},
		{"one of two others leaves later", full, 6 * time.Second, []func(*api.Balancer){state("NOLB"), three(100)}, nil},
		{"another one is a little lighter", full, 3 * time.Second, []func(*api.Balancer){state("NOLB"), three(151)}, nil},
		{"there was no other", func(b *api.Balancer) { others(0)(b); b.OthersWeight = 0 }, 3 * time.Second,
			[]func(*api.Balancer){state("NOLB"), others(0)}, nil},
		{"what was seen before the hold", full, 0, []func(*api.Balancer){others(0)}, nil},
		{"it asks for the verdict only", hidden, 3 * time.Second, []func(*api.Balancer){hidden, others(0)}, nil},
		{"it asks for the verdict only, and none is left", hidden, 3 * time.Second, []func(*api.Balancer){hidden,
			func(b *api.Balancer) { b.View.WeightTotal = 0 }}, []string{none}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == nil {
				tt.want = []string{}
			}
			d := departure()
			before := pair(0, tt.before)
			before.Balancers[0].OthersSeen = before.Time // nothing is missing
			if list, _ := d.Waits(before); len(list) != 0 {
				t.Fatalf("it waits for %v", list)
			}
			d.Left(held())
			s := pair(tt.after, tt.now...)
			s.Services[0].Mode = drain.Drain
			assertObstacles(t, d.Collision(s), tt.want)
		})
	}
}

// Without a turn there are no windows, and another server may leave.
func TestWithoutATurnOnlyTheLastServerCollides(t *testing.T) {
	d := departure()
	d.Saw(pair(0))
	d.Left(held())
	down := pair(2*time.Second, state("NOLB"), others(0))
	assertObstacles(t, d.Collision(down), []string{"collision: balancer lb1 has no other server left"})
	assertObstacles(t, d.Unsettled(down), []string{})
	d = new(rotation.Departure)
	d.Left(held())
	assertObstacles(t, d.Collision(down), []string{})
}

// A stop that cannot wait for its turn any longer is drained while a server is left.
func TestAMasterThatLeavesLateReturnsOnlyAsTheLastServer(t *testing.T) {
	three := func(weight int) api.Status {
		return pair(time.Second, state("NOLB"), others(weight), func(b *api.Balancer) { b.OthersWeight = 200 })
	}
	d := departure()
	d.Waits(pair(0, others(200), func(b *api.Balancer) { b.OthersWeight, b.OthersSeen = 200, held() }))
	d.Late()
	d.Left(held())
	assertObstacles(t, d.Collision(three(100)), []string{})
	assertObstacles(t, d.Unsettled(three(100)), []string{})
	assertObstacles(t, d.Collision(three(0)), []string{"collision: balancer lb1 has no other server left"})
}

// A master that has come back knows nothing of the others until balancers send again.
func TestAfterACollisionBalancersMustSendAgain(t *testing.T) {
	d := departure()
	d.Waits(pair(0))
	d.Left(held())
	assertObstacles(t, d.Unsettled(pair(5*time.Second)), []string{"slot: another server may still leave at the same time"})
	d.Returned()
	assertObstacles(t, d.Unsettled(pair(5*time.Second)), []string{})
	list, _ := d.Waits(pair(6*time.Second, state("NOLB")))
	assertObstacles(t, list, []string{"not-sending: lb1 does not send yet (NOLB)"})
	if list, _ := d.Waits(pair(12 * time.Second)); len(list) != 0 {
		t.Errorf("once it sends, it waits for %v", list)
	}
}

// A stop that has no time left after a collision must not drain the last server again.
func TestACollisionThatLeftNoServerCountsUntilBalancersSendAgain(t *testing.T) {
	three := func(b *api.Balancer) { b.OthersWeight, b.OthersSeen = 200, held() }
	for _, tt := range []struct {
		name     string
		left     int // weight of the other servers at the collision
		replaced bool
		alone    string
	}{
		{"none is left", 0, false, "balancer lb1 has no other server left"},
		{"one is left", 100, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := departure()
			d.Waits(pair(0, others(200), three))
			d.Left(held())
			if c := d.Collision(pair(time.Second, state("NOLB"), others(tt.left), three)); len(c) == 0 {
				t.Fatal("no collision")
			}
			d.Returned()
			for _, back := range []string{"no look", "a look before the balancer sends"} {
				if d.Replaced() != tt.replaced || d.Alone() != tt.alone {
					t.Errorf("after %s: replaced %v, alone %q", back, d.Replaced(), d.Alone())
				}
				d.Waits(pair(2*time.Second, state("NOLB"), others(tt.left), three))
				d.Overdue()
			}
			if d.Waits(pair(12*time.Second, others(200), three)); !d.Replaced() || d.Alone() != "" {
				t.Errorf("once it sends: replaced %v, alone %q", d.Replaced(), d.Alone())
			}
		})
	}
}

// A backup takes over while this master is drained. Afterwards it is not a server that is
// missing: the next stop must drain the master as the first has, and not wait for it.
func TestABackupIsNoMissingServer(t *testing.T) {
	tracker := balancer.NewTracker(func() {})
	at := held()
	views := func(state, puppet, puppetdb string) api.Status {
		at = at.Add(2 * time.Second)
		for service, weight := range map[string]string{"server": puppet, "puppetdb": puppetdb} {
			view := state + "; name=" + service + "/m1; node=lb1; weight=" + weight
			q := balancer.Question{Service: service, DrainCode: 404, MaintCode: 503, View: view}
			tracker.Record(netip.MustParseAddr("192.0.2.5"), q, balancer.Told{Code: 200}, at)
		}
		s := status(drain.Ready, func(s *api.Status) { s.Time, s.Balancers = at, tracker.Current(at) })
		s.Services = append(s.Services, api.ServiceStatus{Name: "puppetdb", Mode: drain.Ready})
		return s
	}
	for _, when := range []string{"before the first drain", "after it"} {
		s := views("UP", "100/200", "1/1")
		if !rotation.Replaced(s, "") || len(rotation.Turn(s, "")) > 0 {
			t.Errorf("%s: replaced %v, waits for %v", when, rotation.Replaced(s, ""), rotation.Turn(s, ""))
		}
		views("NOLB", "100/100", "1/1")
	}
}

func TestReplaced(t *testing.T) {
	never := func(b *api.Balancer) { others(0)(b); b.OthersWeight, b.OthersSeen = 0, time.Time{} }
	with := func(change ...func(*api.Balancer)) (s api.Status) {
		for _, f := range change {
			one := pair(0, f)
			one.Balancers = append(one.Balancers, s.Balancers...)
			s = one
		}
		return s
	}
	for _, tt := range []struct {
		name   string
		status api.Status
		want   bool
	}{
		{"another server", with(others(100)), true},
		{"no other any more", with(others(0)), false},
		{"never another", with(never), false},
		{"never another for the CA", with(never, others(100)), true},
		{"none any more for one of two", with(others(0), others(100)), false},
		{"no view", with(func(b *api.Balancer) { b.View = nil }), true},
		{"no balancer", api.Status{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := rotation.Replaced(tt.status, ""); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
			d := departure()
			d.Saw(tt.status)
			if why := d.Alone(); (why == "") != tt.want && tt.name != "never another for the CA" {
				t.Errorf("replaced %v, but alone because %q", tt.want, why)
			}
		})
	}
}

// Masters that have waited for the same server, which does not come back, must not all
// leave when their turn ends.
func TestAfterItsTurnADepartureWaitsForServersThatLeaveThen(t *testing.T) {
	missing := func(weight int) func(*api.Balancer) { // of the two other servers
		return func(b *api.Balancer) {
			others(weight)(b)
			b.OthersWeight = 200
		}
	}
	d := departure()
	if list, _ := d.Waits(pair(0, missing(100))); len(list) != 1 || list[0].Kind != api.ObstacleTurn {
		t.Fatalf("one of two others is missing, and in the way are %v", list)
	}
	d.Overdue()
	if list, _ := d.Waits(pair(6*time.Second, missing(100))); len(list) > 0 {
		t.Errorf("when its turn has ended, %v are in the way", list)
	}
	if list, _ := d.Waits(pair(12*time.Second, missing(0))); len(list) != 1 || list[0].Kind != api.ObstacleTurn {
		t.Errorf("the other one has left then, and in the way are %v", list)
	}
	if list, _ := d.Waits(pair(18*time.Second, missing(100))); len(list) > 0 {
		t.Errorf("it is back, and %v are in the way", list)
	}
}
