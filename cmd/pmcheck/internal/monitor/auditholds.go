package monitor

import (
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// holds logs the beginning and the end of each hold that takes something out.
func (a audit) holds(before, after *State) {
	was, is := inEffect(before), inEffect(after)
	var expired []drain.Hold
	if !before.Published.IsZero() {
		expired = after.Holds.Expired(before.Published, after.Published)
	}
	for _, h := range expired {
		a.log.Info("hold expired", heldFields(h)...)
	}
	for _, h := range was {
		if !continues(h, is) && !continues(h, expired) {
			a.log.Info("hold lifted", heldFields(h)...)
		}
	}
	for _, h := range is {
		i := find(h, was)
		switch {
		case i < 0 && h.Code != "":
			a.log.Error("hold cannot be read, so it counts as maint", append(heldFields(h), "path", h.Path)...)
		case i < 0:
			a.log.Info("hold set", heldFields(h)...)
		case differ(was[i], h):
			a.log.Info("hold changed", heldFields(h)...)
		}
	}
}

// inEffect returns the holds in effect at the moment of s.
func inEffect(s *State) []drain.Hold { return s.Holds.At(s.Published).Holds() }

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
	return before.Mode != after.Mode || before.Leaving != after.Leaving ||
		before.Reason != after.Reason || before.Who() != after.Who() || before.Until.IsZero() != after.Until.IsZero()
}

func heldFields(h drain.Hold) []any {
	fields := []any{"hold", h.Holder, "service", h.Service, "mode", h.Mode}
	for _, f := range []struct{ key, value string }{
		{"leaving", string(h.Leaving)}, {"by", h.By},
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
