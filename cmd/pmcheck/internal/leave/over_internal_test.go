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
		d := &departure{want: tt.request, patience: newPatience(time.Now())}
		d.party = newParty(d)
		if got := d.merged(tt.old, tt.leaving); got != tt.want {
			t.Errorf("%s: it is %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
