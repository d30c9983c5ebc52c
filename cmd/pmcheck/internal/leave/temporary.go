package leave

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// renewals is how often a temporary hold is renewed in the time for which it lasts.
const renewals = 3

// Temporary is the hold during a command, as Out has set it. It ends by itself soon after its last renewal, so
// it does not outlive a process that was killed. A hold that another party has set in its place, or has lifted, is
// neither changed nor set again.
type Temporary struct {
	Holds  Holds
	Hold   drain.Hold
	Length time.Duration // until the hold ends by itself, from each renewal on
	Out    io.Writer     // where failures are written

	gone bool
}

// Every returns the time between two renewals of the hold.
func (t *Temporary) Every() time.Duration { return max(t.Length/renewals, 10*time.Millisecond) }

// Begin moves the end of the hold for a command that is about to run. The caller must not run the command after
// an error, since the hold may end soon, or be gone.
func (t *Temporary) Begin() error { return t.endAt(time.Now().Add(t.Length)) }

// Renew moves the end of the hold.
func (t *Temporary) Renew() {
	if t.gone {
		return
	}
	err := t.Begin()
	if t.gone = errors.Is(err, errGone); err != nil {
		fmt.Fprintf(t.Out, "not renewed: %v\n", err)
	}
}

// Keep removes the end of the hold, so that it stays until it is lifted.
func (t *Temporary) Keep() error { return t.endAt(time.Time{}) }

// Lift lifts the hold, and returns it if it was still there.
func (t *Temporary) Lift() (lifted []drain.Hold, err error) {
	if t.Hold.Mode == "" { // Out has set none
		return nil, nil
	}
	was, err := lift(t.Holds, t.Hold)
	if !was {
		return nil, err
	}
	return []drain.Hold{t.Hold}, nil
}

// lift lifts a hold, and reports whether it was still there. One that is gone, or that another party has set in its
// place, is not an error.
func lift(holds Holds, h drain.Hold) (was bool, err error) {
	err = holds.Undo(h)
	if errors.Is(err, drain.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (t *Temporary) endAt(end time.Time) (err error) {
	t.Hold, err = amend(t.Holds, t.Hold, func(h *drain.Hold) { h.Until = end })
	return err
}
