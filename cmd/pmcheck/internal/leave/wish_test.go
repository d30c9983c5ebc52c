package leave_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/drain"
)

func TestHoldKeepsWhatIsNotGiven(t *testing.T) {
	const reason, until, reboot = leave.FieldReason, leave.FieldUntil, leave.FieldUntilReboot
	type fields = map[leave.Field]bool
	end := now().Add(1)
	old := drain.Hold{Mode: drain.Drain, Reason: "old", Until: held(), UntilReboot: true, By: "alice"}
	for _, tt := range []struct {
		name string
		old  drain.Hold
		wish leave.Wish
		want drain.Hold
		kept []leave.Field
	}{
		{
			name: "nothing is given",
			old:  old,
			want: drain.Hold{Reason: "old", Until: held(), UntilReboot: true},
			kept: []leave.Field{reason, until, reboot},
		},
		{
			name: "drain becomes maint",
			old:  old,
			wish: leave.Wish{Hold: drain.Hold{Mode: drain.Maint}},
			want: drain.Hold{Mode: drain.Maint, Reason: "old", Until: held(), UntilReboot: true},
			kept: []leave.Field{reason, until, reboot},
		},
		{
			name: "a reason is given",
			old:  old,
			wish: leave.Wish{Hold: drain.Hold{Reason: "new"}, Given: fields{reason: true}},
			want: drain.Hold{Reason: "new", Until: held(), UntilReboot: true},
			kept: []leave.Field{until, reboot},
		},
		{
			name: "an end is given",
			old:  old,
			wish: leave.Wish{Hold: drain.Hold{Until: end}, Given: fields{until: true}},
			want: drain.Hold{Reason: "old", Until: end, UntilReboot: true},
			kept: []leave.Field{reason, reboot},
		},
		{
			name: "all is given, and empty",
			old:  old,
			wish: leave.Wish{Given: fields{reason: true, until: true, reboot: true}},
		},
		{
			name: "there is no hold",
			wish: leave.Wish{Hold: drain.Hold{Reason: "new"}},
			want: drain.Hold{Reason: "new"},
		},
		{
			name: "the hold has nothing to keep",
			old:  drain.Hold{Mode: drain.Maint},
		},
		{
			name: "firm stays firm",
			old:  drain.Hold{Mode: drain.Drain},
			wish: leave.Wish{Hold: drain.Hold{Mode: drain.Maint, Leaving: drain.LeavingInTurn}},
			want: drain.Hold{Mode: drain.Maint},
		},
		{
			name: "leaving becomes what is asked for",
			old:  drain.Hold{Mode: drain.Drain, Leaving: drain.LeavingBesideSpare},
			wish: leave.Wish{Hold: drain.Hold{Mode: drain.Drain, Leaving: drain.LeavingInTurn}},
			want: drain.Hold{Mode: drain.Drain, Leaving: drain.LeavingInTurn},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, kept := tt.wish.Over(tt.old)
			if got != tt.want {
				t.Errorf("it is %+v, want %+v", got, tt.want)
			}
			if diff := cmp.Diff(tt.kept, kept); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}
