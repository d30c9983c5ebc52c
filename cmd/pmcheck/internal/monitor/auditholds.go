package monitor

import (
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// Messages about holds in the log. "pmcheck log" reads them from the journal, with the
// fields that heldFields returns.
const (
	// HoldsFound is logged once when the daemon starts, before HoldSet for each hold that it
	// finds. A hold from before the start that is not among them ended meanwhile.
	HoldsFound  = "holds found"
	HoldSet     = "hold set"
	HoldChanged = "hold changed"
	HoldLifted  = "hold lifted"
	HoldExpired = "hold expired"
)

// holds logs the beginning and the end of each hold that takes something out.
func (a audit) holds(before, after *State) {
	started := before.Published.IsZero()
	was, is := inEffect(before), inEffect(after)
	if started {
		a.log.Info(HoldsFound, "count", len(is))
	}
	expired := after.Holds.Expired(before.Published, after.Published)
	for _, h := range expired {
		// The end of a hold that ended before the start may have moved since it was logged.
		if h.Mode != drain.Ready {
			a.log.Info(HoldExpired, heldFields(h)...)
		}
	}
	for _, h := range was {
		if !continues(h, is) && !continues(h, expired) {
			a.log.Info(HoldLifted, heldFields(h)...)
		}
	}
	for _, h := range is {
		i := find(h, was)
		switch {
		case i < 0:
			a.log.Info(HoldSet, heldFields(h)...)
		case differ(was[i], h):
			a.log.Info(HoldChanged, heldFields(h)...)
		}
	}
}

// inEffect returns the holds that take something out at the moment of s.
func inEffect(s *State) (list []drain.Hold) {
	for _, h := range s.Holds.At(s.Published).Holds() {
		if h.Mode != drain.Ready {
			list = append(list, h)
		}
	}
	return list
}

// find returns the index in list of the hold that h continues, or -1. A hold that was lifted
// and set again is another hold. Both directories of holds have the same holder, so only
// their paths tell them apart.
func find(h drain.Hold, list []drain.Hold) int {
	return slices.IndexFunc(list, func(o drain.Hold) bool {
		same := o.Holder == h.Holder && o.Service == h.Service && o.Since.Equal(h.Since)
		return same && (h.Holder != drain.Directory || o.Path == h.Path)
	})
}

func continues(h drain.Hold, list []drain.Hold) bool { return find(h, list) >= 0 }

// differ reports whether a change of a hold is worth a line. A new end is not, unless the
// hold had none before or has none now: with-hold renews its end every few minutes. The line
// that is logged when the hold ends has the last end.
func differ(before, after drain.Hold) bool {
	return before.Mode != after.Mode || before.Reason != after.Reason || before.Who() != after.Who() ||
		before.Until.IsZero() != after.Until.IsZero()
}

func heldFields(h drain.Hold) []any {
	fields := []any{"hold", h.Holder, "service", h.Service, "mode", h.Mode}
	for _, f := range []struct{ key, value string }{
		{"by", h.By},
		{"owner", h.Owner},
		{"reason", h.Reason},
		{"error", h.Error},
		{"since", stamp(h.Since)},
		{"until", stamp(h.Until)},
	} {
		if f.value != "" {
			fields = append(fields, f.key, f.value)
		}
	}
	if h.UntilReboot {
		fields = append(fields, "until_reboot", true)
	}
	return fields
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
