package monitor

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/drain"
)

// readHolds returns the holds of a new store, as read now.
func readHolds(t *testing.T, holds ...drain.Hold) drain.Snapshot {
	t.Helper()
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	for _, h := range holds {
		if _, err := store.Put(h); err != nil {
			t.Fatal(err)
		}
	}
	return store.Read()
}

func TestModeIsMaintWhenTheHoldsWereReadTooLongAgo(t *testing.T) {
	s := &State{Holds: readHolds(t)}
	read := s.Holds.Taken()
	for _, tt := range []struct {
		age  time.Duration
		want drain.Mode
	}{
		{0, drain.Ready},
		{14 * time.Second, drain.Ready},
		{15 * time.Second, drain.Maint},
		{15 * time.Hour, drain.Maint},
	} {
		got, by := s.Mode(Server, read.Add(tt.age))
		if got != tt.want {
			t.Errorf("holds read %s ago: %s, want %s", tt.age, got, tt.want)
		}
		if got == drain.Maint && (len(by) != 1 || by[0].Code != drain.Unreadable) {
			t.Errorf("holds read %s ago: held by %+v, want one that is unreadable", tt.age, by)
		}
	}
	if got, _ := new(State).Mode(Server, time.Now()); got != drain.Maint {
		t.Errorf("holds that were never read: %s, want maint", got)
	}
}

func TestConcludeKeepsSinceWhileNothingChanges(t *testing.T) {
	start := time.Now()
	free, held := readHolds(t), readHolds(t, drain.Hold{Holder: drain.Operator, Mode: drain.Drain})
	healthy := check.Verdict{Health: check.Healthy, Reason: check.OK, Since: start.Add(-time.Hour)}
	refused := check.Verdict{Health: check.Unhealthy, Reason: puppetclient.Refused, Since: start.Add(-time.Hour)}
	next := func(before *State, after time.Duration, v check.Verdict, holds drain.Snapshot) *State {
		s := &State{Published: start.Add(after), Holds: holds, Services: []Service{{Name: Server, Verdict: v}}}
		s.conclude(before)
		return s
	}
	last := next(&State{}, 0, healthy, free)
	for _, tt := range []struct {
		name                    string
		at                      time.Duration
		verdict                 check.Verdict
		holds                   drain.Snapshot
		verdictSince, modeSince time.Duration // from the start on
	}{
		{"the same", time.Second, healthy, free, -time.Hour, 0},
		{"another verdict", 2 * time.Second, refused, free, 2 * time.Second, 0},
		{"the same again", 3 * time.Second, refused, free, 2 * time.Second, 0},
		{"a hold", 4 * time.Second, refused, held, 2 * time.Second, 4 * time.Second},
		{"back to what it was", 5 * time.Second, healthy, free, 5 * time.Second, 5 * time.Second},
	} {
		last = next(last, tt.at, tt.verdict, tt.holds)
		if got := last.Services[0].Verdict.Since.Sub(start); got != tt.verdictSince {
			t.Errorf("%s: the verdict began at %s, want %s", tt.name, got, tt.verdictSince)
		}
		if got := last.Services[0].ModeSince.Sub(start); got != tt.modeSince {
			t.Errorf("%s: the mode began at %s, want %s", tt.name, got, tt.modeSince)
		}
	}
}

func TestLiveEndsWhenTheLoopStops(t *testing.T) {
	s := &State{Published: time.Now(), MaxAge: time.Second}
	if !s.Live(s.Published.Add(999*time.Millisecond)) || s.Live(s.Published.Add(time.Second)) {
		t.Error("a state is live for MaxAge after it was published")
	}
}

// TestServingSinceIsTheLastChangeOfTheAnswer: since is when the master last began or
// ceased to serve. A change between healthy and busy, or from one fault to another, does
// not reset it.
func TestServingSinceIsTheLastChangeOfTheAnswer(t *testing.T) {
	start := time.Now()
	free, drained := readHolds(t), readHolds(t, drain.Hold{Holder: drain.Operator, Mode: drain.Drain})
	otherHeld := readHolds(t, drain.Hold{Holder: "other", Service: "ca", Mode: drain.Maint})
	verdict := func(h check.Health, r check.Reason) check.Verdict { return check.Verdict{Health: h, Reason: r} }
	healthy, busy := verdict(check.Healthy, check.OK), verdict(check.Busy, check.JRubyBusy)
	refused, warming := verdict(check.Unhealthy, puppetclient.Refused), verdict(check.Warming, check.JRubyWarming)
	last := &State{}
	for i, tt := range []struct {
		name    string
		verdict check.Verdict
		holds   drain.Snapshot
		serves  bool
		since   int // the number of the state
	}{
		{"a first verdict", warming, free, false, 0},
		{"in service", healthy, free, true, 1},
		{"busy", busy, free, true, 1},
		{"healthy again", healthy, free, true, 1},
		{"a hold on another service", healthy, otherHeld, true, 1},
		{"drained", healthy, drained, false, 5},
		{"stopped while drained", refused, drained, false, 5},
		{"lifted while it starts", warming, free, false, 5},
		{"back in service", healthy, free, true, 8},
	} {
		at := start.Add(time.Duration(i) * time.Second)
		s := &State{Published: at, Holds: tt.holds, Services: []Service{{Name: Server, Verdict: tt.verdict}}}
		s.conclude(last)
		last = s
		want := start.Add(time.Duration(tt.since) * time.Second)
		serves, since := s.Serving(&s.Services[0], at)
		if serves != tt.serves || !since.Equal(want) {
			t.Errorf("%s: serving %v since %s, want %v since state %d",
				tt.name, serves, since.Sub(start), tt.serves, tt.since)
		}
	}
}

// Between two states that are published, a verdict can expire and a hold can end.
func TestServingChangesWithoutANewState(t *testing.T) {
	start := time.Now()
	s := &State{Published: start, Holds: readHolds(t), Services: []Service{{
		Name:    Server,
		Verdict: check.Verdict{Health: check.Healthy, Reason: check.OK, Expires: start.Add(5 * time.Second)},
	}}}
	s.conclude(&State{})
	if serves, since := s.Serving(&s.Services[0], start.Add(4*time.Second)); !serves || !since.Equal(start) {
		t.Errorf("before it expires: %v since %s", serves, since.Sub(start))
	}
	serves, since := s.Serving(&s.Services[0], start.Add(9*time.Second))
	if serves || !since.Equal(start.Add(5*time.Second)) {
		t.Errorf("after it expired: %v since %s, want since its expiry at 5s", serves, since.Sub(start))
	}

	ends := start.Add(2 * time.Second)
	s = &State{Published: start, Holds: readHolds(t, drain.Hold{Holder: "a", Mode: drain.Drain, Until: ends}),
		Services: []Service{{Name: Server, Verdict: check.Verdict{Health: check.Healthy, Reason: check.OK}}}}
	s.conclude(&State{})
	now := start.Add(3 * time.Second)
	if serves, since := s.Serving(&s.Services[0], now); !serves || since.Before(start) || since.After(now) {
		t.Errorf("after the hold ended: %v since %s", serves, since.Sub(start))
	}
}
