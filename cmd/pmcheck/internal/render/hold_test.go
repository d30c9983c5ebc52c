package render_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/drain"
)

func TestPendingStopIsDescribedOnOneLine(t *testing.T) {
	until := time.Date(2026, 11, 21, 15, 4, 5, 0, time.Local)
	hold := drain.Hold{
		Holder:      "guard",
		Mode:        drain.Ready,
		Owner:       "root",
		Reason:      "puppetserver is about to stop; waits for its turn: balancer lb1 has had no other server for 12 s",
		Until:       until,
		UntilReboot: true,
	}
	want := "ready by guard (root): puppetserver is about to stop; waits for its turn: " +
		"balancer lb1 has had no other server for 12 s, until " + until.Format("2006-01-02 15:04:05 MST") + " or reboot"
	if got := render.Hold(hold); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
