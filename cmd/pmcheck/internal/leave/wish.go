package leave

import "github.com/pmcheck/pmcheck/drain"

// Field is a field of a hold that its holder chooses, named as in its JSON.
type Field string

// The fields that a hold keeps when its holder sets it again without them.
const (
	FieldReason      Field = "reason"
	FieldUntil       Field = "until"
	FieldUntilReboot Field = "until_reboot"
)

// Wish is a hold as a holder asks for it. Given says which of its fields the holder chose; an empty value
// can be chosen too.
type Wish struct {
	Hold  drain.Hold
	Given map[Field]bool
	// New says that the holder must not hold yet: a hold of the same name is another party's.
	New bool
}

// Over returns the hold to set in place of old, and the fields that it keeps from old. A hold that is set
// again, to wait for it or to make it stricter, must not become endless or lose its reason, and one that
// is firm stays firm: work may have begun. A zero old holds nothing.
func (w Wish) Over(old drain.Hold) (h drain.Hold, kept []Field) {
	h = w.Hold
	if old.Mode == "" {
		return h, nil
	}
	if old.Leaving == drain.Firm {
		h.Leaving = drain.Firm
	}
	if !w.Given[FieldReason] && old.Reason != "" {
		h.Reason, kept = old.Reason, append(kept, FieldReason)
	}
	if !w.Given[FieldUntil] && !old.Until.IsZero() {
		h.Until, kept = old.Until, append(kept, FieldUntil)
	}
	if !w.Given[FieldUntilReboot] && old.UntilReboot {
		h.UntilReboot, kept = true, append(kept, FieldUntilReboot)
	}
	return h, kept
}
