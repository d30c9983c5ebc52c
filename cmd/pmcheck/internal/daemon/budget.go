package daemon

import (
	"cmp"
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

const (
	// askEvery is the longest time between two questions to the database, whose answers the
	// status shows. With a short budget.lapse it is a sixth of that.
	askEvery = time.Minute
	// askAgain is the pause after a question that was not answered.
	askAgain = 10 * time.Second
)

// A slotKeeper keeps the slot of one configuration up to date. It belongs to one
// goroutine; nothing waits for it.
type slotKeeper struct {
	settings *config.Config
	client   *budget.Client
	step     leave.SlotStep // the last one that was taken
	next     time.Time      // when to ask if the step stays the same
}

// keepSlot renews the slot of this master while it is out and returns it afterwards,
// until ctx ends.
func (d *Daemon) keepSlot(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for k := (&slotKeeper{}); ; {
		if c := d.settings.Load(); k.settings != c { // the new one asks at once
			k = &slotKeeper{settings: c, client: budget.New(*c)}
		}
		if k.settings.Budget.Database == "" {
			d.budget.Store(nil)
		} else if d.monitor.State().Judged() {
			d.keepSlotOnce(ctx, k)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// keepSlotOnce takes the next step, if there is one to take now, and notes the answer.
func (d *Daemon) keepSlotOnce(ctx context.Context, k *slotKeeper) {
	now := time.Now()
	st := d.status(now)
	before := cmp.Or(st.Budget, &status.BudgetStatus{View: budget.View{Slots: []budget.Slot{}}})
	step, reason := leave.Slot(st)
	server, _ := st.Service(monitor.Server)
	news := step != k.step || server.ModeSince.After(before.Asked) // a hold may have been set, with a slot, and lifted
	if !news && now.Before(k.next) {
		return
	}
	view, err := k.ask(ctx, step, reason)
	if ctx.Err() != nil {
		return
	}
	known, first := *before, before.Asked.IsZero()
	known.Pool, known.Asked, known.Reachable, known.Error = k.settings.Budget.Pool, time.Now(), err == nil, ""
	if first || known.Reachable != before.Reachable {
		known.Since = known.Asked
	}
	pause := min(k.settings.Budget.Lapse/6, askEvery)
	if err != nil {
		known.Error, pause = err.Error(), askAgain
		if first || before.Reachable {
			d.Log.Warn("the database of the budget does not answer as it should", "error", err, "hint", budget.Hint(err))
		}
	} else if known.View = view; !before.Reachable || known.Held != before.Held {
		d.Log.Info("the database of the budget answers", "pool", known.Pool, "held", known.Held, "out", known.Out,
			"allowed", known.Allowed)
	}
	if err == nil && step == leave.SlotReturn && known.Held { // the claim is younger than that
		pause = budget.Settle
	}
	k.step, k.next = step, known.Asked.Add(pause)
	d.budget.Store(&known)
}

func (k *slotKeeper) ask(ctx context.Context, step leave.SlotStep, reason string) (budget.View, error) {
	switch step {
	case leave.SlotRenew:
		return k.client.Renew(ctx, reason)
	case leave.SlotReturn:
		return k.client.Return(ctx)
	}
	return k.client.Look(ctx)
}
