package drain_test

import (
	"errors"
	"testing"

	"github.com/pmcheck/pmcheck/drain"
)

func TestUndoTakesBackOnlyTheHoldThatWasSet(t *testing.T) {
	own := drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: "own"}
	before := drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "before", Until: hours(1), UntilReboot: true}
	brief := own
	brief.Until = hours(2)
	for _, tt := range []struct {
		name   string
		before drain.Hold // zero: there is none
		set    drain.Hold
		during func(t *testing.T, s *drain.Store, c *clock)
		gone   bool
		want   string // the hold that is left
	}{
		{"no hold before", drain.Hold{}, own, nil, false, ""},
		{"a hold before, until reboot", before, own, nil, false, "before"},
		{"the hold before has ended", before, own, func(_ *testing.T, _ *drain.Store, c *clock) {
			c.set(hours(1))
		}, false, ""},
		{"another writer has set it again", drain.Hold{}, own, func(t *testing.T, s *drain.Store, _ *clock) {
			put(t, s, drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: "own", Until: hours(2)})
		}, true, "own"},
		{"another writer has set it again over one before", before, own, func(t *testing.T, s *drain.Store, _ *clock) {
			put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "another"})
		}, true, "another"},
		{"another writer has set it again, and the one before has ended", before, own,
			func(t *testing.T, s *drain.Store, c *clock) {
				put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "another"})
				c.set(hours(1))
			}, true, "another"},
		{"another writer has lifted it", before, own, func(t *testing.T, s *drain.Store, _ *clock) {
			_, err := s.Lift("operator", "")
			must(t, err)
		}, true, ""},
		{"it has ended", drain.Hold{}, brief, func(_ *testing.T, _ *drain.Store, c *clock) { c.set(hours(2)) }, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store, clock := newStore(t)
			var was drain.Hold
			if tt.before.Mode != "" {
				was = put(t, store, tt.before)
			}
			other := put(t, store, drain.Hold{Holder: "operator", Service: "ca", Mode: drain.Drain, Reason: "ca"})
			set := put(t, store, tt.set)
			if tt.during != nil {
				tt.during(t, store, clock)
			}
			restored, err := store.Undo(set, was)
			if errors.Is(err, drain.ErrNotFound) != tt.gone || err != nil && !tt.gone {
				t.Errorf("undone: %v", err)
			}
			var left []drain.Hold
			for _, h := range store.Read().At(clock.now()).Holds() {
				if h != other {
					left = append(left, h)
				}
			}
			switch {
			case tt.want == "" && len(left) > 0, tt.want != "" && (len(left) != 1 || left[0].Reason != tt.want):
				t.Errorf("left: %+v, want %q", left, tt.want)
			case tt.want == "before" && left[0] != was:
				t.Errorf("put back: %+v, want %+v", left[0], was)
			case restored != (tt.want == "before"):
				t.Errorf("restored: %v", restored)
			}
		})
	}
}

// To take back the operator's hold is no order to serve.
