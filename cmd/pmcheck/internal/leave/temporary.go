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

// errGone says that the hold was lifted meanwhile, or has ended.
var errGone = errors.New("the hold is gone: it was lifted meanwhile, or has ended")

// Temporary is the hold during a command. It ends by itself soon after its last renewal, so it does not
// outlive a process that was killed.
type Temporary struct {
	Store   *drain.Store
	Holder  string
	Service string
	Length  time.Duration // until the hold ends by itself, from each renewal on
	// Until is the end of the hold as it was set last. A hold of the same name with another
	// end is another party's, and is neither changed nor lifted.
	Until time.Time
	Out   io.Writer // where failures are written

	gone bool
}

// Every returns the time between two renewals of the hold.
func (h *Temporary) Every() time.Duration { return max(h.Length/renewals, 10*time.Millisecond) }

// Other returns a hold of the same holder that is in effect, if there is one. Lifting this
// hold would lift that one.
func (h *Temporary) Other() (other drain.Hold, found bool) {
	for _, o := range h.Store.Read().At(time.Now()).Holds() {
		if o.Holder == h.Holder && o.Service == h.Service {
			return o, true
		}
	}
	return drain.Hold{}, false
}

// Wish returns the hold to set. It outlasts the way out, which takes at most limit.
func (h *Temporary) Wish(reason string, limit time.Duration) Wish {
	h.Until = time.Now().Add(limit + youngFor + daemonPause + h.Length)
	return Wish{New: true, Hold: drain.Hold{
		Holder:  h.Holder,
		Service: h.Service,
		Mode:    drain.Drain,
		Reason:  reason,
		Until:   h.Until,
	}}
}

// Begin moves the end of the hold for a command that is about to run: when the hold was
// set, it was not known how long the host would wait for its turn. The caller must not run
// the command after an error, since the hold may end soon, or be gone.
func (h *Temporary) Begin() error {
	return h.change(time.Now().Add(h.Length))
}

// Renew moves the end of the hold. It never sets a hold again that an operator has lifted:
// the operator wants agents here.
func (h *Temporary) Renew() {
	if h.gone {
		return
	}
	err := h.Begin()
	if h.gone = errors.Is(err, errGone); err != nil {
		fmt.Fprintf(h.Out, "not renewed: %v\n", err)
	}
}

// Keep removes the end of the hold, so that it stays until it is lifted.
func (h *Temporary) Keep() error { return h.change(time.Time{}) }

// Lift lifts the hold and returns the holds that it lifted. It succeeds if the hold is gone, or
// is another party's by now.
func (h *Temporary) Lift() ([]drain.Hold, error) {
	now, found := h.Other()
	if !found || !h.owns(now) {
		return nil, nil
	}
	switch _, err := h.Store.Undo(now, drain.Hold{}); {
	case errors.Is(err, drain.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []drain.Hold{now}, nil
}

// owns reports whether a hold of this name is this one.
func (h *Temporary) owns(found drain.Hold) bool { return found.Until.Equal(h.Until) }

// change moves the end of the hold. It returns errGone if the hold is not in effect.
func (h *Temporary) change(until time.Time) error {
	gone := false
	_, err := h.Store.Change(h.Holder, h.Service, func(old drain.Hold) drain.Hold {
		if gone = old.Mode == "" || !h.owns(old); gone {
			return drain.Hold{} // not valid, and so not written
		}
		old.Until = until
		return old
	})
	switch {
	case gone:
		return errGone
	case err == nil:
		h.Until = until
	}
	return err
}
