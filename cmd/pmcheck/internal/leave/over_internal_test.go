package leave

import (
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
		d := &departure{want: tt.request, policy: tt.request.policy()}
		if got := d.merged(tt.old, tt.leaving); got != tt.want {
			t.Errorf("%s: it is %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestAClockThatJumpsEndsNoHoldOfAStop: the end of a hold is a time of the wall clock. A command's end is what was
// asked for.
func TestAClockThatJumpsEndsNoHoldOfAStop(t *testing.T) {
	now := time.Now()
	ended := drain.Hold{Mode: drain.Drain, Leaving: drain.LeavingInTurn, Until: now.Add(-47 * time.Hour)}
	asked := drain.Hold{Until: now.Add(-time.Hour)}
	for name, r := range map[string]Request{
		"a stop":    {Stop: &Guard{Limits: turnOf(time.Minute)}},
		"a command": {Hold: asked},
	} {
		p := r.policy()
		_, step := Next(begin(p, now), Facts{Now: now, Own: ended}, p)
		isStop := r.Stop != nil
		if isStop && (step.Do != Hold || step.Level != ended.Leaving) {
			t.Errorf("%s: %+v, want that the hold is written again", name, step)
		}
		if !isStop && step.Err != errGone {
			t.Errorf("%s: %+v, want that the hold is gone", name, step)
		}
	}
}

// TestAHoldOfAStopOutlastsIt: each of its phases may take as long as it can, and the next start as well.
func TestAHoldOfAStopOutlastsIt(t *testing.T) {
	began := time.Now()
	limits := turnOf(time.Hour)
	p := Request{Stop: &Guard{Limits: limits}}.policy()
	at := begin(p, began).times.renewed(limits.Turn, began.Add(LongestTurn), LongestTurn)
	at.out = at.endOf(PhaseOut, limits)
	at.firm = at.endOf(PhaseIdle, limits)
	leaving := p.until(drain.LeavingInTurn, began, began)
	if last := at.endOf(PhaseLast, limits); leaving.Before(last.Add(longestStart)) {
		t.Errorf("a leaving hold ends at %s, and the stop at %s", leaving, last)
	}
	if firm := p.until(drain.Firm, began, began); firm.Sub(began) < longestStart {
		t.Errorf("a firm hold ends at %s", firm)
	}
}
