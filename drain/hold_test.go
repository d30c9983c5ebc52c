package drain_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

// TestAHoldIsDescribedOnOneLine: what a hold says is in its line, what it does not say is not, and its end is always
// named, in local time.
func TestAHoldIsDescribedOnOneLine(t *testing.T) {
	one := noon.Local().Format("2006-01-02 15:04:05 MST")
	for _, tc := range []struct {
		hold drain.Hold
		want string
	}{
		{drain.Hold{Mode: drain.Drain, Holder: "operator"}, "drain by operator, no end"},
		{drain.Hold{Mode: drain.Maint, Holder: "guard", Leaving: drain.LeavingInTurn}, "maint by guard, leaving, no end"},
		{drain.Hold{Mode: drain.Drain, Holder: "operator", Service: "ca"}, "drain by operator on ca, no end"},
		{drain.Hold{Mode: drain.Drain, Holder: "operator", By: "alice"}, "drain by operator (alice), no end"},
		{drain.Hold{Mode: drain.Drain, Holder: "operator", Reason: "disk"}, "drain by operator: disk, no end"},
		{drain.Hold{Mode: drain.Drain, Holder: "operator", Until: noon}, "drain by operator, until " + one},
		{drain.Hold{Mode: drain.Drain, Holder: "operator", UntilReboot: true}, "drain by operator, until reboot"},
		{
			drain.Hold{Mode: drain.Drain, Holder: "operator", Until: noon, UntilReboot: true},
			"drain by operator, until " + one + " or reboot",
		},
		{
			drain.Hold{Mode: drain.Maint, Holder: "a", Code: drain.Unreadable, Path: "/holds/a.json", Error: "file is empty"},
			"maint by a: hold-unreadable: /holds/a.json: file is empty",
		},
		{
			drain.Hold{Mode: drain.Drain, Holder: "a", Service: "ca", Leaving: drain.LeavingBesideSpare, By: "b", Reason: "c"},
			"drain by a, leaving on ca (b): c, no end",
		},
	} {
		if got := tc.hold.String(); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
}
