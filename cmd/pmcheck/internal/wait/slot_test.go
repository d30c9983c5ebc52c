package wait_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
)

func TestAfterItsTurnAMasterWaitsForASlotForARandomTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		slot     bool
		lot      float64
		free     time.Duration // when the slot is given back
		min, max time.Duration // that it waits
	}{
		{"it gets a slot", true, 1, 22 * time.Second, 22 * time.Second, 24 * time.Second},
		{"it gets none", true, 0.5, time.Hour, 25 * time.Second, 27 * time.Second},
		{"it gets none, and has drawn the latest moment", true, 1, time.Hour, 30 * time.Second, 32 * time.Second},
		{"it needs none", false, 1, time.Hour, 20 * time.Second, 20 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				stop := rotation.Stop{Began: began, Lot: tt.lot, Overdue: true}
				var slot *wait.Slot
				if tt.slot {
					slot = &wait.Slot{Budget: func(context.Context, budget.Claim) (budget.View, error) {
						if time.Since(began) < tt.free {
							return budget.View{}, &budget.TakenError{Slots: []budget.Slot{{Master: "m3"}}, Allowed: 1}
						}
						return budget.View{}, nil
					}}
				}
				clear := func(context.Context) []api.Obstacle { return nil }
				late := slot.Late(clear, &stop, config.Guard{Turn: 20 * time.Second})
				time.Sleep(20 * time.Second) // its turn
				for len(late(t.Context())) > 0 {
				}
				if took := time.Since(began); took < tt.min || took > tt.max {
					t.Errorf("it goes on after %v, want %v to %v", took, tt.min, tt.max)
				}
			})
		})
	}
}
