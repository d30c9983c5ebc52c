package leave

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// errGone says that the hold that was set is not there any more.
var errGone = errors.New("the hold was lifted or replaced meanwhile, or has ended")

// hold writes the hold, or changes its level and its end. It returns errGone if another party has lifted or replaced
// the hold meanwhile. A firm hold stays firm: work may have begun.
func (d *departure) hold(level drain.Leaving) error {
	own := &d.seen.Own
	isFirst := own.Mode == ""
	if !isFirst {
		set, err := d.world.Amend(*own, func(h *drain.Hold) { *h = d.merged(*h, level) })
		if err == nil {
			*own = set
		}
		return err
	}

	h := d.want.Hold
	set, err := d.world.Holds.Change(h.Holder, h.Service, func(old drain.Hold) (drain.Hold, error) {
		return d.merged(old, level), nil
	})
	if err != nil {
		return err
	}
	*own = set
	d.seen.Held = time.Now()
	if d.world.Changed != nil {
		d.world.Changed("held", set)
	}
	return nil
}

// merged returns the hold to set in place of old; a zero old holds nothing. A hold that is set again keeps its end and
// its reason. A firm hold stays firm: work may have begun.
func (d *departure) merged(old drain.Hold, level drain.Leaving) drain.Hold {
	h := d.want.Hold

	h.Leaving = level
	if old.Mode != "" && old.Leaving == drain.Firm {
		h.Leaving = drain.Firm
	}

	h.Until = d.policy.until(h.Leaving, d.state.times.began, time.Now())
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

// retreat lifts the hold while it is leaving. A firm hold stays: work may have begun.
func (d *departure) retreat() error {
	own := &d.seen.Own
	if own.Mode == "" || own.Leaving == drain.Firm {
		return nil
	}
	if err := d.world.Lift(*own); err != nil {
		return err
	}
	*own = drain.Hold{}
	return nil
}

// Amend changes a hold as Out returned it. If another party has lifted or replaced the hold, or if that is not known,
// Amend returns an error and changes nothing. It returns the hold as it is now.
func (w World) Amend(set drain.Hold, change func(*drain.Hold)) (drain.Hold, error) {
	h, err := w.Holds.Change(set.Holder, set.Service, func(old drain.Hold) (drain.Hold, error) {
		// A hold that has ended is not seen as old, but its file is there: the clock may have been set forward.
		seen := w.Holds.Read()
		hasEnded := old.Mode == "" && slices.Contains(seen.Holds(), set)
		if old != set && !hasEnded {
			return old, cmp.Or(seen.Doubt(set), errGone)
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

// Lift lifts a hold as Out returned it. A hold that another party has set in its place stays, which is not an error.
func (w World) Lift(set drain.Hold) error {
	_, err := w.Amend(set, func(h *drain.Hold) { *h = drain.Hold{} })
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if w.Changed != nil {
		w.Changed("lifted", set)
	}
	return nil
}
