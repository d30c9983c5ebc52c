package leave

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// errGone says that a hold is no longer the one that was set.
var errGone = errors.New("the hold was lifted or replaced meanwhile, or has ended")

// hold writes the hold, or changes what it waits for. A hold that another party has lifted or replaced meanwhile is
// gone.
func (d *departure) hold(leaving drain.Leaving) error {
	before := d.set
	set, err := d.world.Holds.Change(d.want.Hold.Holder, d.want.Hold.Service, func(old drain.Hold) (drain.Hold, error) {
		if before.Mode != "" && old != before {
			return old, errGone
		}
		if before.Mode == "" && old.Mode != "" && d.want.New {
			return old, &Error{Kind: Taken, Text: fmt.Sprintf("%s holds already: %s", old.Holder, old)}
		}
		return d.merged(old, leaving), nil
	})
	if err != nil {
		return err
	}

	d.set = set
	if before.Mode != "" {
		return nil
	}
	d.setAt = time.Now()
	if d.world.Changed != nil {
		d.world.Changed("held", set)
	}
	return nil
}

// merged returns the hold to set in place of old; a zero old holds nothing. A hold that is set again keeps its end and
// its reason. A firm hold stays firm: work may have begun.
func (d *departure) merged(old drain.Hold, leaving drain.Leaving) drain.Hold {
	h := d.want.Hold
	h.Leaving = leaving
	if old.Mode != "" && old.Leaving == drain.Firm {
		h.Leaving = drain.Firm
	}
	h.Until = d.party.until(h.Leaving)
	if old.Mode == "" {
		return h
	}

	if h.Until.IsZero() {
		h.Until = old.Until
	}
	h.Reason = cmp.Or(h.Reason, old.Reason)
	h.UntilReboot = h.UntilReboot || old.UntilReboot
	return h
}

// undo lifts the hold. A hold that is gone by now is another party's matter.
func (d *departure) undo() error {
	if d.set.Mode == "" {
		return nil
	}
	if err := d.world.Lift(d.set); err != nil {
		return err
	}
	d.set = drain.Hold{}
	return nil
}

// retreat lifts the hold while it is leaving. A firm hold stays: work may have begun.
func (d *departure) retreat() error {
	if d.set.Leaving == drain.Firm {
		return nil
	}
	return d.undo()
}

// Amend changes a hold that was set, as Out returned it, and leaves one alone that another party has set in its
// place or has lifted. It returns an error then, and the hold as it is otherwise. A hold that has ended, but whose
// file is there, is changed: the clock may have been set forward.
func (w World) Amend(set drain.Hold, change func(*drain.Hold)) (drain.Hold, error) {
	h, err := w.Holds.Change(set.Holder, set.Service, func(old drain.Hold) (drain.Hold, error) {
		ended := old.Mode == "" && slices.Contains(w.Holds.Read().Holds(), set)
		if old != set && !ended {
			return old, errGone
		}
		next := set
		change(&next)
		return next, nil
	})
	if err != nil {
		return set, err
	}
	return h, nil
}

// Lift lifts a hold that was set, if it is still there. One that another party has set in its
// place stays, which is not an error.
func (w World) Lift(set drain.Hold) error {
	_, err := w.Amend(set, func(h *drain.Hold) { *h = drain.Hold{} })
	if errors.Is(err, errGone) {
		return nil
	}
	if err == nil && w.Changed != nil {
		w.Changed("lifted", set)
	}
	return err
}

func expires(limit time.Duration) func() bool {
	end := time.Now().Add(limit)
	return func() bool { return !time.Now().Before(end) }
}
