package leave

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// errGone says that the hold that was set is not there any more.
var errGone = errors.New("the hold was lifted or replaced meanwhile, or has ended")

// hold writes the hold, or changes what it waits for. It returns errGone if another party has lifted or replaced the
// hold meanwhile.
func (d *departure) hold(leaving drain.Leaving) error {
	before := d.set
	isFirst := before.Mode == ""
	set, err := d.world.Holds.Change(d.want.Hold.Holder, d.want.Hold.Service, func(old drain.Hold) (drain.Hold, error) {
		if !isFirst && old != before {
			return old, cmp.Or(d.world.Holds.Read().Hung(before), errGone)
		}
		taken := isFirst && old.Mode != ""
		if taken && d.want.New {
			return old, &Error{Kind: Taken, Text: fmt.Sprintf("%s holds already: %s", old.Holder, old)}
		}
		return d.merged(old, leaving), nil
	})
	if err != nil {
		return err
	}

	d.set = set
	if !isFirst {
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

// retreat lifts the hold while it is leaving. A firm hold stays: work may have begun.
func (d *departure) retreat() error {
	if d.set.Mode == "" || d.set.Leaving == drain.Firm {
		return nil
	}
	if err := d.world.Lift(d.set); err != nil {
		return err
	}
	d.set = drain.Hold{}
	return nil
}

// Amend changes a hold as Out returned it. If another party has lifted or replaced the hold, Amend returns an error and
// changes nothing. It returns the hold as it is now.
func (w World) Amend(set drain.Hold, change func(*drain.Hold)) (drain.Hold, error) {
	h, err := w.Holds.Change(set.Holder, set.Service, func(old drain.Hold) (drain.Hold, error) {
		// A hold that has ended is not seen as old, but its file is there: the clock may have been set forward.
		seen := w.Holds.Read()
		hasEnded := old.Mode == "" && slices.Contains(seen.Holds(), set)
		if old != set && !hasEnded {
			return old, cmp.Or(seen.Hung(set), errGone)
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
