package drain_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// A hold of mode ready announces a later hold and holds nothing itself, so the later one
// does not keep its Since.
func TestAHoldAfterAPendingOneBeginsWhenItIsSet(t *testing.T) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s := &drain.Store{Persistent: t.TempDir(), Now: func() time.Time { return now }}
	pending, err := s.Put(drain.Hold{Holder: "guard", Mode: drain.Ready, Reason: "is about to stop"})
	if err != nil {
		t.Fatal(err)
	}
	if mode, by := s.Read().Mode("server", now); mode != drain.Ready || len(by) != 0 {
		t.Errorf("mode %s by %v", mode, by)
	}
	if holds := s.Read().Holds(); len(holds) != 1 || holds[0] != pending {
		t.Errorf("holds %v", holds)
	}
	now = now.Add(time.Minute)
	again, err := s.Put(drain.Hold{Holder: "guard", Mode: drain.Ready})
	if err != nil || !again.Since.Equal(pending.Since) {
		t.Errorf("announced again: since %v, %v", again.Since, err)
	}
	held, err := s.Put(drain.Hold{Holder: "guard", Mode: drain.Drain})
	if err != nil || !held.Since.Equal(now) {
		t.Errorf("drained since %v, want %v (%v)", held.Since, now, err)
	}
	if mode, _ := s.Read().Mode("server", now); mode != drain.Drain {
		t.Errorf("mode %s", mode)
	}
}
