package cli

import (
	"errors"
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

// TestAHoldOfAnotherPartyIsNotTouched: not even its reason is another one afterwards. The own hold is changed, and set
// again once it was lifted.
func TestAHoldOfAnotherPartyIsNotTouched(t *testing.T) {
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	own := &ownHolds{Holds: store}
	put := func(h drain.Hold) error {
		_, err := own.Change("upgrade", "", func(drain.Hold) (drain.Hold, error) { return h, nil })
		return err
	}
	drains := drain.Hold{Mode: drain.Drain}
	for _, h := range []drain.Hold{drains, {Mode: drain.Maint}, {}, drains, {}} {
		if err := put(h); err != nil {
			t.Fatalf("%v: %v", h, err)
		}
	}

	backup := drain.Hold{Mode: drain.Drain, Reason: "backup"}
	set, err := store.Change("upgrade", "", func(drain.Hold) (drain.Hold, error) { return backup, nil })
	if err != nil {
		t.Fatal(err)
	}
	refused, is := errors.AsType[*exitError](put(drains))
	if holds := store.Read().Holds(); !is || refused.status != exitRefused || len(holds) != 1 || holds[0] != set {
		t.Errorf("%v; held: %v", refused, holds)
	}
}
