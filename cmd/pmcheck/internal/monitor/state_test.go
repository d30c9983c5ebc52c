package monitor

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/drain"
)

func readHolds(t *testing.T, holds ...drain.Hold) drain.Snapshot {
	t.Helper()
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	for _, h := range holds {
		if _, err := store.Change(h.Holder, h.Service, func(drain.Hold) (drain.Hold, error) { return h, nil }); err != nil {
			t.Fatal(err)
		}
	}
	return store.Read()
}

// TestSinceIsTheLastChange: the verdict, the mode and the answer each have a time of their own. A change between
// healthy and busy, or from one fault to another, is none of the answer.
func TestSinceIsTheLastChange(t *testing.T) {
	start := time.Now()
	free, drained := readHolds(t), readHolds(t, drain.Hold{Holder: drain.Operator, Mode: drain.Drain})
	otherHeld := readHolds(t, drain.Hold{Holder: "other", Service: "ca", Mode: drain.Maint})
	verdict := func(h check.Health, r check.Reason) check.Verdict { return check.Verdict{Health: h, Reason: r} }
	healthy, busy := verdict(check.Healthy, check.OK), verdict(check.Busy, check.JRubyBusy)
	refused, warming := verdict(check.Unhealthy, puppetclient.Refused), verdict(check.Warming, check.JRubyWarming)
	warming.Since = start
	last := &State{}
	for i, tt := range []struct {
		name    string
		verdict check.Verdict
		holds   drain.Snapshot
		since   [3]int // the number of the state since which verdict, mode and answer are the same
	}{
		{"a first verdict", warming, free, [3]int{0, 0, 0}},
		{"in service", healthy, free, [3]int{1, 0, 1}},
		{"the same", healthy, free, [3]int{1, 0, 1}},
		{"busy", busy, free, [3]int{3, 0, 1}},
		{"a hold on another service", busy, otherHeld, [3]int{3, 0, 1}},
		{"drained", busy, drained, [3]int{3, 5, 5}},
		{"stopped while drained", refused, drained, [3]int{6, 5, 5}},
		{"lifted while it starts", warming, free, [3]int{7, 7, 5}},
		{"back in service", healthy, free, [3]int{8, 7, 8}},
	} {
		at := start.Add(time.Duration(i) * time.Second)
		s := &State{Published: at, Holds: tt.holds, Services: []Service{{Name: drain.Master, Verdict: tt.verdict}}}
		s.conclude(last)
		last = s
		now, _ := s.At(drain.Master, at)
		for j, got := range []time.Time{now.Verdict.Since, now.ModeSince, now.InServiceSince} {
			if want := start.Add(time.Duration(tt.since[j]) * time.Second); !got.Equal(want) {
				t.Errorf("%s: times %d: since %s, want since state %d", tt.name, j, got.Sub(start), tt.since[j])
			}
		}
	}
}

// Between two states that are published, a verdict can expire and a hold can end.
func TestServingChangesWithoutANewState(t *testing.T) {
	start := time.Now()
	after := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for _, tt := range []struct {
		name  string
		hold  []drain.Hold
		asked int
		since int
	}{
		{"before the verdict expires", nil, 4, -60},
		{"after the verdict expired", nil, 9, 0},
		{"after the hold ended", []drain.Hold{{Holder: "a", Mode: drain.Drain, Until: after(2)}}, 3, 0},
	} {
		verdict := check.Verdict{Health: check.Healthy, Reason: check.OK, Expires: after(5)}
		server := Service{Name: drain.Master, Verdict: verdict, InServiceSince: after(-60)}
		s := &State{Published: start, Holds: readHolds(t, tt.hold...), Services: []Service{server}}
		if m, _ := s.At(drain.Master, after(tt.asked)); m.InServiceSince != after(tt.since) {
			t.Errorf("%s: since %s, want %d s", tt.name, m.InServiceSince.Sub(start), tt.since)
		}
	}
}
