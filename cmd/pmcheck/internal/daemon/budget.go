package daemon

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
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
	back     drain.Settle
	known    status.BudgetStatus
	step     leave.SlotStep // the last one that was taken
	next     time.Time      // when to ask if the step stays the same
}

// keepSlot renews the slot of this master while it is out and returns it afterwards,
// until ctx ends.
func (d *Daemon) keepSlot(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for k := (&slotKeeper{}); ; {
		c := d.settings.Load()
		if k.settings != c {
			k = newSlotKeeper(c)
		}
		if c.Budget.Database == "" {
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

// newSlotKeeper returns one that asks at once.
func newSlotKeeper(c *config.Config) *slotKeeper {
	return &slotKeeper{
		settings: c,
		client:   budget.New(*c),
		back:     drain.Settle{After: budget.Settle},
		known:    status.BudgetStatus{Pool: c.Budget.Pool, View: budget.View{Slots: []budget.Slot{}}},
	}
}

// keepSlotOnce takes the next step, if there is one to take now.
func (d *Daemon) keepSlotOnce(ctx context.Context, k *slotKeeper) {
	now := time.Now()
	st := d.status(now)
	st.Budget = &k.known
	step, reason := leave.Slot(st, k.back.Observe(leave.SlotBack(st), now))
	server, _ := st.Service(monitor.Server)
	news := step != k.step || server.ModeSince.After(k.known.Asked) // a hold may have been set, with a slot, and lifted
	if !news && now.Before(k.next) {
		return
	}
	before := k.known
	err := k.take(ctx, step, reason)
	if ctx.Err() != nil {
		return
	}
	known := k.known
	d.budget.Store(&known)
	switch first := before.Asked.IsZero(); {
	case err != nil && (before.Reachable || first):
		d.Log.Warn("the database of the budget does not answer as it should", "error", err, "hint", budget.Hint(err))
	case err == nil && (!before.Reachable || known.Held != before.Held):
		d.Log.Info("the database of the budget answers", "pool", known.Pool, "held", known.Held, "out", known.Out,
			"allowed", known.Allowed)
	}
}

// take asks the database and notes its answer.
func (k *slotKeeper) take(ctx context.Context, step leave.SlotStep, reason string) (err error) {
	var v budget.View
	switch step {
	case leave.SlotRenew:
		v, err = k.client.Renew(ctx, reason)
	case leave.SlotReturn:
		v, err = k.client.Return(ctx)
	default:
		v, err = k.client.Look(ctx)
	}
	now := time.Now()
	k.step, k.next = step, now.Add(min(k.settings.Budget.Lapse/6, askEvery))
	if reachable := err == nil; reachable != k.known.Reachable || k.known.Since.IsZero() {
		k.known.Reachable, k.known.Since = reachable, now
	}
	k.known.Asked, k.known.Error = now, ""
	if err != nil {
		k.known.Error, k.next = err.Error(), now.Add(askAgain)
		return err
	}
	k.known.View = v
	if step == leave.SlotReturn && k.known.Held { // the claim is younger than that
		k.next = now.Add(budget.Settle)
	}
	return nil
}
