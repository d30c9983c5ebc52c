package wait_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
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

// A stop waits for minutes, and the hold that made its slot unnecessary may be lifted meanwhile.
func TestASlotIsClaimedIfNoHoldHasTheMasterOutByThen(t *testing.T) {
	t.Parallel()
	c := config.Config{HoldsIn: t.TempDir()}
	c.Budget.Database = "dbname=pmcheck"
	stop := drain.Hold{Holder: drain.Guard, Mode: drain.Drain}
	catalogs := drain.Hold{Holder: "upgrade", Service: monitor.Server, Mode: drain.Drain}
	if !wait.NeedsSlot(c, stop) || wait.NeedsSlot(c, drain.Hold{Holder: drain.Guard, Service: "ca", Mode: drain.Drain}) {
		t.Error("a hold of the master needs a slot, and one of another service does not")
	}
	asked := 0
	slot := wait.NewSlot(c, stop)
	slot.Budget = func(context.Context, budget.Claim) (budget.View, error) {
		asked++
		return budget.View{}, nil
	}
	claims := func(want int) {
		t.Helper()
		if err := slot.Claim(t.Context(), false); err != nil || asked != want {
			t.Errorf("asked %d times, want %d; %v", asked, want, err)
		}
	}
	if _, err := c.Store().Put(catalogs); err != nil {
		t.Fatal(err)
	}
	if !wait.NeedsSlot(c, stop) {
		t.Error("a slot is decided on before the stop waits")
	}
	claims(0)
	if _, err := c.Store().Lift(catalogs.Holder, catalogs.Service); err != nil {
		t.Fatal(err)
	}
	claims(1)
}

// A stop that is not asked about its slot while it waits for its turn must not take an old
// error for the state of the database.
func TestAnErrorOfTheBudgetDoesNotOutlastTheNextLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slot := &wait.Slot{Budget: func(context.Context, budget.Claim) (budget.View, error) {
			return budget.View{}, budget.ErrUnreachable
		}}
		var turn []api.Obstacle
		look := slot.After(func(context.Context) []api.Obstacle { return turn })
		if look(t.Context()); slot.Lost() == nil {
			t.Error("the budget cannot be asked, and is not lost")
		}
		turn = []api.Obstacle{{Kind: api.ObstacleTurn}}
		if look(t.Context()); slot.Lost() != nil {
			t.Errorf("not asked, and lost because of %v", slot.Lost())
		}
		var none *wait.Slot
		none.After(look)(t.Context())
	})
}
