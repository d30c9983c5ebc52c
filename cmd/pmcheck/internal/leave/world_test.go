package leave_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/drain"
)

// TestAHoldIsAnothersOnceItWasReplaced: then it is neither changed nor lifted.
func TestAHoldIsAnothersOnceItWasReplaced(t *testing.T) {
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	changed := 0
	w := leave.World{Holds: store, Changed: func(string, drain.Hold) { changed++ }}
	put := func(mode drain.Mode) drain.Hold {
		h := drain.Hold{Mode: mode, Until: time.Now().Add(time.Hour)}
		set, err := store.Change("with-hold", "", func(drain.Hold) (drain.Hold, error) { return h, nil })
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	noEnd := func(h *drain.Hold) { h.Until = time.Time{} }
	replaced, own := put(drain.Drain), put(drain.Maint)
	if set, err := w.Amend(replaced, noEnd); err == nil || set != replaced {
		t.Errorf("amended to %+v, %v", set, err)
	}
	if err := w.Lift(replaced); err != nil || changed != 0 || store.Read().Holds()[0] != own {
		t.Errorf("%d lifted, %v, left %v", changed, err, store.Read().Holds())
	}
	own, err := w.Amend(own, noEnd)
	if liftErr := w.Lift(own); err != nil || liftErr != nil || changed != 1 || !own.Until.IsZero() {
		t.Errorf("its own: %+v, %v; %d lifted, %v", own, err, changed, liftErr)
	}
}
