package show_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/drain"
)

func TestHoldThatIsLeavingIsDescribedOnOneLine(t *testing.T) {
	until := time.Date(2026, 11, 21, 15, 4, 5, 0, time.Local)
	hold := drain.Hold{
		Holder:      "guard",
		Mode:        drain.Drain,
		Leaving:     drain.LeavingInTurn,
		Owner:       "root",
		Reason:      "puppetserver is about to stop",
		Until:       until,
		UntilReboot: true,
	}
	want := "drain by guard, leaving (root): puppetserver is about to stop, until " +
		until.Format("2006-01-02 15:04:05 MST") + " or reboot"
	if got := show.Hold(hold); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
