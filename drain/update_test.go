package drain_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

func TestChangeSeesTheHoldThatItReplaces(t *testing.T) {
	store, clock := newStore(t)
	until := hours(1)
	put(t, store, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "x", Until: until, UntilReboot: true})
	put(t, store, drain.Hold{Holder: "operator", Service: "ca", Mode: drain.Drain, Reason: "ca"})
	change := func(mode drain.Mode) (old, set drain.Hold) {
		t.Helper()
		set, err := store.Change("operator", "", func(o drain.Hold) drain.Hold {
			old = o
			o.Mode, o.Holder, o.Service = mode, "other", "ca" // only Mode is for next to choose
			return o
		})
		if err != nil {
			t.Fatal(err)
		}
		return old, set
	}
	old, set := change(drain.Maint)
	if old.Reason != "x" || !old.UntilReboot || !old.Until.Equal(until) {
		t.Errorf("it replaces %+v", old)
	}
	if set.Holder != "operator" || set.Service != "" || set.Mode != drain.Maint || set.Reason != "x" || !set.UntilReboot {
		t.Errorf("it sets %+v", set)
	}
	clock.set(until) // from here on the hold counts no more
	if _, err := store.Put(drain.Hold{Holder: "operator", Mode: drain.Drain, Until: until}); err == nil {
		t.Fatal("a hold that has ended was set")
	}
	_, err := store.Change("operator", "", func(o drain.Hold) drain.Hold {
		if o != (drain.Hold{}) {
			t.Errorf("a hold that has ended is replaced: %+v", o)
		}
		return drain.Hold{Mode: drain.Drain}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Two writers that each add to the reason must not lose a word.
func TestChangeIsNotInterruptedByAnotherWriter(t *testing.T) {
	store, _ := newStore(t)
	const writers, times = 4, 5
	done := make(chan error, writers)
	for range writers {
		go func() {
			for range times {
				_, err := store.Change("operator", "", func(o drain.Hold) drain.Hold {
					o.Mode = drain.Drain
					o.Reason += "x"
					return o
				})
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if got := store.Read().Holds()[0].Reason; len(got) != writers*times {
		t.Errorf("%d of %d changes are left", len(got), writers*times)
	}
}
