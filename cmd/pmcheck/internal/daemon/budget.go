package daemon

import (
	"cmp"
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
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
	step     status.SlotStep // that was taken last
	next     time.Time       // when to ask if the step stays the same
}

// keepSlot renews the slot of this master while it is out and returns it afterwards,
// until ctx ends.
func (d *Daemon) keepSlot(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	k := &slotKeeper{}
	for {
		c := d.settings.Load()
		if k.settings != c { // a keeper of another configuration asks at once
			k = &slotKeeper{settings: c, client: budget.New(*c)}
		}

		if k.settings.Budget.Database.IsZero() {
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

	step, reason := st.Slot()
	// A hold may have been set, with a slot, and lifted.
	held := st.Master().ModeSince.After(before.Asked)
	isNews := step != k.step || held
	if !isNews && now.Before(k.next) {
		return
	}

	view, err := k.ask(ctx, step, reason)
	if ctx.Err() != nil {
		return
	}
	known := k.learn(*before, view, err)
	d.logBudget(*before, known, err)
	d.budget.Store(&known)

	k.step = step
	k.next = known.Asked.Add(k.pause(step, known))
}

// learn returns what is known of the budget after a question. If the database did not answer, its last answer stays.
func (k *slotKeeper) learn(before status.BudgetStatus, view budget.View, err error) status.BudgetStatus {
	known := before
	known.Pool = k.settings.Budget.Pool
	known.Asked = time.Now()
	known.Reachable = err == nil

	if known.Reachable {
		known.View = view
		known.Error = ""
	} else {
		known.Error = err.Error()
	}

	first := before.Asked.IsZero()
	if first || known.Reachable != before.Reachable {
		known.Since = known.Asked
	}
	return known
}

// pause returns how long the next question can wait, if nothing happens.
func (k *slotKeeper) pause(step status.SlotStep, known status.BudgetStatus) time.Duration {
	if !known.Reachable {
		return askAgain
	}

	// The database does not take a claim back that is younger than budget.Settle.
	isYoung := step == status.SlotReturn && known.Held
	if isYoung {
		return budget.Settle
	}
	return min(k.settings.Budget.Lapse/6, askEvery)
}

// logBudget writes a line when the database begins or ceases to answer, and when the master's slot comes or goes.
func (d *Daemon) logBudget(before, known status.BudgetStatus, err error) {
	if err != nil {
		first := before.Asked.IsZero()
		if first || before.Reachable {
			d.log.Warn("the database of the budget does not answer as it should", "error", err, "hint", budget.Hint(err))
		}
		return
	}

	if !before.Reachable || known.Held != before.Held {
		d.log.Info("the database of the budget answers", "pool", known.Pool, "held", known.Held, "out", known.Out,
			"allowed", known.Allowed)
	}
}

// ask takes a step in the database, and returns what it says of the pool.
func (k *slotKeeper) ask(ctx context.Context, step status.SlotStep, reason string) (budget.View, error) {
	switch step {
	case status.SlotRenew:
		return k.client.Renew(ctx, reason)
	case status.SlotReturn:
		return k.client.Return(ctx)
	}
	return k.client.Look(ctx)
}
