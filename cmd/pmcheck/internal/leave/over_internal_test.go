package leave

import (
	"errors"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

func TestAHoldThatIsSetAgainKeepsWhatIsNotGiven(t *testing.T) {
	end := time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)
	old := drain.Hold{Mode: drain.Drain, Reason: "old", Until: end, UntilReboot: true}
	for _, tt := range []struct {
		name    string
		old     drain.Hold
		request Request
		leaving drain.Leaving
		want    drain.Hold
	}{
		{"nothing is given", old, Request{Hold: drain.Hold{Mode: drain.Maint}}, drain.Firm,
			drain.Hold{Mode: drain.Maint, Reason: "old", Until: end, UntilReboot: true}},
		{"all is given", old, Request{Hold: drain.Hold{Reason: "new", Until: end.Add(1), UntilReboot: true}}, drain.Firm,
			drain.Hold{Reason: "new", Until: end.Add(1), UntilReboot: true}},
		{"there is no hold", drain.Hold{}, Request{Hold: drain.Hold{Reason: "new"}}, drain.LeavingInTurn,
			drain.Hold{Reason: "new", Leaving: drain.LeavingInTurn}},
		{"firm stays firm", drain.Hold{Mode: drain.Drain}, Request{}, drain.LeavingInTurn, drain.Hold{}},
		{"leaving becomes what is asked for", drain.Hold{Mode: drain.Drain, Leaving: drain.LeavingBesideSpare},
			Request{}, drain.LeavingInTurn, drain.Hold{Leaving: drain.LeavingInTurn}},
	} {
		d := &departure{want: tt.request, patience: newPatience(time.Now())}
		d.party = newParty(d)
		if got := d.merged(tt.old, tt.leaving); got != tt.want {
			t.Errorf("%s: it is %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestAClockThatJumpsEndsNoHoldOfAStop: the end of a hold is a time of the wall clock. A command's end is what was
// asked for.
func TestAClockThatJumpsEndsNoHoldOfAStop(t *testing.T) {
	for name, r := range map[string]Request{
		"a stop":    {Stop: &Guard{Limits: turnOf(time.Minute)}},
		"a command": {Hold: drain.Hold{Until: time.Now().Add(-time.Hour)}},
	} {
		before := time.Now().Add(-48 * time.Hour)
		store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
		store.Now = func() time.Time { return before }
		set, err := store.Change("holder", "", func(drain.Hold) (drain.Hold, error) {
			return drain.Hold{Mode: drain.Drain, Leaving: drain.LeavingInTurn, Until: before.Add(time.Hour)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}

		store.Now = nil
		d := &departure{world: World{Holds: store}, want: r, set: set, patience: newPatience(time.Now())}
		d.party = newParty(d)
		err = d.stillHolds()
		isStop := r.Stop != nil
		if isStop && (err != nil || !d.set.InEffect(time.Now())) {
			t.Errorf("%s: %v; it ends at %s", name, err, d.set.Until)
		}
		if !isStop && !errors.Is(err, errGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAHoldOfAStopOutlastsIt: each of its phases may take as long as it can, and the next start as well.
func TestAHoldOfAStopOutlastsIt(t *testing.T) {
	d := &departure{patience: newPatience(time.Now()), want: Request{Stop: &Guard{Limits: turnOf(time.Hour)}}}
	d.party = newParty(d)
	p := d.patience
	p.renew(p.began.Add(LongestTurn), LongestTurn)
	p.toldAt = p.end(phaseTold)
	p.firmAt = p.end(phaseIdle)
	if leaving, last := d.party.until(drain.LeavingInTurn), p.end(phaseLast); leaving.Before(last.Add(longestStart)) {
		t.Errorf("a leaving hold ends at %s, and the stop at %s", leaving, last)
	}
	if firm := d.party.until(drain.Firm); time.Until(firm) < longestStart-time.Minute {
		t.Errorf("a firm hold ends at %s", firm)
	}
}
