package drain

import (
	"cmp"
	"slices"
	"time"
)

// Snapshot contains the holds that were in the directories at one moment. It is
// immutable and safe for concurrent use. The zero Snapshot was never read, so its mode
// is [Maint].
type Snapshot struct {
	taken time.Time
	holds []Hold
}

// newSnapshot takes ownership of holds.
func newSnapshot(taken time.Time, holds []Hold) Snapshot {
	slices.SortFunc(holds, func(a, b Hold) int {
		return cmp.Or(
			cmp.Compare(b.Mode.rank(), a.Mode.rank()),
			cmp.Compare(a.Holder, b.Holder),
			cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.Path, b.Path),
		)
	})
	return Snapshot{taken: taken, holds: slices.Compact(holds)}
}

// Holds returns all holds, strictest first and then by holder and service,
// including those that have expired but are still on disk. The caller may change the
// slice.
func (s Snapshot) Holds() []Hold { return slices.Clone(s.holds) }

// At returns the snapshot with only the holds that are in effect at now.
func (s Snapshot) At(now time.Time) Snapshot {
	s.holds = slices.DeleteFunc(s.Holds(), func(h Hold) bool { return !h.InEffect(now) })
	return s
}

// Mode returns the mode of service at now, and the holds that cause it: those in effect
// that ask for exactly this mode. [Ready] needs no hold.
func (s Snapshot) Mode(service Service, now time.Time) (mode Mode, by []Hold) {
	if s.taken.IsZero() {
		return Maint, nil
	}
	mode = Ready
	for _, h := range s.holds { // the strictest come first
		if h.InEffect(now) && h.Covers(service) && h.Mode.rank() >= mode.rank() {
			mode, by = h.Mode, append(by, h)
		}
	}
	return mode, by
}

// Leaving returns what the mode of service waits for at now. The least patient of the holds in effect
// decides, be it less strict than others: balancers must not take a master back that one of them
// has taken out.
func (s Snapshot) Leaving(service Service, now time.Time) Leaving {
	holds := slices.DeleteFunc(s.Holds(), func(h Hold) bool { return !h.InEffect(now) || !h.Covers(service) })
	if len(holds) == 0 {
		return Firm
	}
	least := slices.MinFunc(holds, func(a, b Hold) int { return cmp.Compare(a.Leaving.patience(), b.Leaving.patience()) })
	return least.Leaving
}
