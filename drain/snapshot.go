package drain

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// Snapshot contains the holds that were in the directories at one moment. It is
// immutable and safe for concurrent use. The zero Snapshot was never read, so its mode
// is [Maint].
type Snapshot struct {
	taken time.Time
	list  []Hold
	hangs []Hang
}

// Hang is a directory of holds on a file system that does not answer. The holds that were read in it last count.
type Hang struct {
	Path  string    `json:"path"`           // the directory
	Since time.Time `json:"since,omitzero"` // when it was read last; absent if never
}

// String says it in a sentence.
func (h Hang) String() string {
	if h.Since.IsZero() {
		return fmt.Sprintf("the holds in %s are not known: %v", h.Path, ErrHangs)
	}
	since := h.Since.Local().Format(time.DateTime)
	return fmt.Sprintf("the holds in %s are those of %s: %v", h.Path, since, ErrHangs)
}

// newSnapshot takes ownership of holds and hangs.
func newSnapshot(taken time.Time, holds []Hold, hangs []Hang) Snapshot {
	slices.SortFunc(hangs, func(a, b Hang) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(holds, func(a, b Hold) int {
		return cmp.Or(
			cmp.Compare(b.Mode.rank(), a.Mode.rank()),
			cmp.Compare(a.Holder, b.Holder),
			cmp.Compare(a.Service, b.Service),
			cmp.Compare(a.Path, b.Path),
		)
	})
	return Snapshot{taken: taken, list: slices.Compact(holds), hangs: hangs}
}

// Hangs returns the directories that hang. The caller may change the slice.
func (s Snapshot) Hangs() []Hang { return slices.Clone(s.hangs) }

// Hung returns an error if the directory of a hold hangs, or the directory that a hold stands for: whether the hold is
// still there is not known.
func (s Snapshot) Hung(h Hold) error {
	for _, hang := range s.hangs {
		if isPlaceOf(hang.Path, h) {
			return pathError("read", hang.Path, ErrHangs)
		}
	}
	return nil
}

// Doubt returns an error if it is not known whether a hold is still there: its file or its directory cannot be read, or
// hangs.
func (s Snapshot) Doubt(h Hold) error {
	for _, o := range s.list {
		if o.Code == Unreadable && isPlaceOf(o.Path, h) {
			return fmt.Errorf("cannot read %s: %s", o.Path, o.Error)
		}
	}
	return s.Hung(h)
}

// Lacks reports whether a hold is known not to be there any more: see Doubt.
func (s Snapshot) Lacks(h Hold) bool { return !slices.Contains(s.list, h) && s.Doubt(h) == nil }

// isPlaceOf reports whether a path is that of a hold, or of its directory.
func isPlaceOf(path string, h Hold) bool { return path == h.Path || path == filepath.Dir(h.Path) }

// Holds returns all holds, strictest first and then by holder and service, also the
// holds that have expired but are still on disk. The caller may change the slice.
func (s Snapshot) Holds() []Hold { return slices.Clone(s.list) }

// At returns the snapshot with only the holds that are in effect at now.
func (s Snapshot) At(now time.Time) Snapshot {
	s.list = keep(s.list, func(h Hold) bool { return h.InEffect(now) })
	return s
}

// Mode returns the mode of service at now, and the holds that cause it: those in effect
// that ask for exactly this mode. [Ready] needs no hold.
func (s Snapshot) Mode(service Service, now time.Time) (mode Mode, by []Hold) {
	if s.taken.IsZero() {
		return Maint, nil
	}

	mode = Ready
	for _, h := range s.inEffect(service, now) { // the strictest come first
		if h.Mode.rank() >= mode.rank() {
			mode = h.Mode
			by = append(by, h)
		}
	}
	return mode, by
}

// Leaving returns what the mode of service waits for at now. The least patient of the holds in effect
// decides, be it less strict than others: balancers must not take a master back that one of them
// has taken out.
func (s Snapshot) Leaving(service Service, now time.Time) Leaving {
	holds := s.inEffect(service, now)
	if len(holds) == 0 {
		return Firm
	}
	least := slices.MinFunc(holds, func(a, b Hold) int { return cmp.Compare(a.Leaving.patience(), b.Leaving.patience()) })
	return least.Leaving
}

// inEffect returns the holds in effect at now that concern service.
func (s Snapshot) inEffect(service Service, now time.Time) []Hold {
	return keep(s.list, func(h Hold) bool { return h.InEffect(now) && h.Covers(service) })
}

// keep returns the holds for which the condition is true, in a slice of its own.
func keep(holds []Hold, condition func(Hold) bool) (kept []Hold) {
	for _, h := range holds {
		if condition(h) {
			kept = append(kept, h)
		}
	}
	return kept
}
