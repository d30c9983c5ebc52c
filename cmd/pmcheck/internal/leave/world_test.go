package leave_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/drain"
)

// TestAHoldThatWasSetIsAnothersOnceItWasReplaced: one that was lifted or replaced is neither set again, changed nor
// lifted.
func TestAHoldThatWasSetIsAnothersOnceItWasReplaced(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*drain.Store) error
		left   string // its mode
	}{
		{"as it was set", func(*drain.Store) error { return nil }, ""},
		{"lifted", func(s *drain.Store) error { _, err := s.LiftAll(); return err }, ""},
		{"replaced", func(s *drain.Store) error {
			_, err := put(s, drain.Hold{Mode: drain.Maint})
			return err
		}, "maint"},
	} {
		store, intact := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}, tt.name == "as it was set"
		set, err := put(store, drain.Hold{Mode: drain.Drain, Until: time.Now().Add(time.Hour)})
		if err := errors.Join(err, tt.change(store)); err != nil {
			t.Fatal(err)
		}
		changed := 0
		w := leave.World{Holds: store, Changed: func(string, drain.Hold) { changed++ }}
		set, err = w.Amend(set, func(h *drain.Hold) { h.Until = time.Time{} })
		if (err == nil) != intact || set.Until.IsZero() != intact {
			t.Errorf("%s: amended to %+v, %v", tt.name, set, err)
		}
		if err := w.Lift(set); err != nil || (changed == 1) != intact {
			t.Errorf("%s: %d lifted, %v", tt.name, changed, err)
		}
		mode := ""
		for _, h := range store.Read().Holds() {
			mode += string(h.Mode)
		}
		if mode != tt.left {
			t.Errorf("%s: left %q", tt.name, mode)
		}
	}
}

func put(s *drain.Store, h drain.Hold) (drain.Hold, error) {
	return s.Change("with-hold", "", func(drain.Hold) (drain.Hold, error) { return h, nil })
}
