package daemon

import (
	"cmp"
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
)

// keepSlot renews the slot of this master while it is out and returns it afterwards,
// until ctx ends.
func (d *Daemon) keepSlot(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	var by *config.Config
	var keeper *budget.Keeper
	for {
		settings := d.settings.Load()
		hasChanged := by != settings
		if hasChanged {
			by = settings
			keeper = budget.NewKeeper(*settings)
		}

		if settings.Budget.Database.IsZero() {
			d.budget.Store(nil)
		} else if d.monitor.State().Judged() {
			d.keepSlotOnce(ctx, keeper)
		}

		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// keepSlotOnce takes the next step, if there is one to take now, and notes the answer.
func (d *Daemon) keepSlotOnce(ctx context.Context, keeper *budget.Keeper) {
	seen := d.status(time.Now())
	before := cmp.Or(seen.Budget, &budget.Status{Usage: budget.Usage{Slots: []budget.Slot{}}})
	step, reason := leave.KeepSlot(seen)
	known, asked, err := keeper.Keep(ctx, *before, step, reason, seen.Master().ModeSince)
	if !asked {
		return
	}

	d.logBudget(*before, known, err)
	d.budget.Store(&known)
}

// logBudget writes a line when the database begins or ceases to answer, and when the master's slot comes or goes.
func (d *Daemon) logBudget(before, known budget.Status, err error) {
	if err != nil {
		first := before.Asked.IsZero()
		if first || before.Reachable {
			d.log.Warn("the database of the budget does not answer as it should", "error", err, "hint", budget.Hint(err))
		}
		return
	}

	if !before.Reachable || known.HasSlot != before.HasSlot {
		d.log.Info("the database of the budget answers", "pool", known.Pool, "has_slot", known.HasSlot, "out", known.Out,
			"allowed", known.Allowed)
	}
}
