package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
)

// announceEvery is the least time between two changes of what a pending stop says.
const announceEvery = 5 * time.Second

// waitTurn waits until the master may leave, and reports whether that was in time.
// Meanwhile a hold of mode ready, which holds nothing, tells what the stop waits for.
func (g *Guard) waitTurn(ctx context.Context) (inTime bool, err error) {
	turn := wait.Turn(g.client, g.departure, g.store)
	look := func(ctx context.Context) []api.Obstacle {
		list := turn(ctx)
		if g.stop.Overdue && !g.stop.HostStops.IsZero() && len(list) == 0 && !g.departure.Replaced() {
			list = []api.Obstacle{{Kind: api.ObstacleLast, Text: g.departure.Alone()}}
		}
		return list
	}
	inTurn := func() ([]api.Obstacle, bool, error) {
		return g.wait(ctx, 0, func(ctx context.Context) []api.Obstacle {
			if lost := g.Slot.Lost(); lost != nil && time.Now().After(g.stop.BudgetUntil(g.Settings.Guard)) {
				g.withoutBudget(lost)
			}
			return g.pending(ctx, g.Slot.After(look)(ctx))
		})
	}
	_, inTime, err = wait.InTurn(g.departure, &g.stop, inTurn, func() ([]api.Obstacle, bool, error) {
		late := g.Slot.Late(look, &g.stop, g.Settings.Guard)
		return g.waitLate(ctx, func(ctx context.Context) []api.Obstacle { return g.pending(ctx, late(ctx)) })
	})
	return inTime, err
}

// waitLate waits until a master whose turn has ended may leave.
func (g *Guard) waitLate(ctx context.Context, look wait.Look) (left []api.Obstacle, inTime bool, err error) {
	left, inTime, err = g.wait(ctx, 0, look)
	if err == nil && !inTime && !g.departure.Replaced() && g.serveOn() {
		left, inTime, err = g.wait(ctx, 0, look)
	}
	if err == nil {
		g.claimLate(ctx)
	}
	return left, inTime, err
}

// serveOn has a master that balancers cannot do without serve on while the host shuts down,
// instead of stopping early. It returns false if there is no time left for that.
func (g *Guard) serveOn() bool {
	if g.stop.Last || g.stop.HostStops.IsZero() {
		return false
	}
	g.departure.Overdue()
	g.stop.Last = true
	return true
}

// pending shows what a stop waits for until ctx ends, and returns that.
func (g *Guard) pending(ctx context.Context, turn []api.Obstacle) []api.Obstacle {
	if len(turn) > 0 && ctx.Err() == nil && time.Since(g.announced) >= announceEvery {
		g.announce(rotation.Pending(g.Service, turn))
	}
	return turn
}

// claimLate is for a stop that was not given a slot in time. The service stops in any
// case, so the slot is taken, and the stop goes on as without a budget.
func (g *Guard) claimLate(ctx context.Context) {
	err := g.Slot.Claim(ctx, false)
	if errors.Is(err, budget.ErrTaken) {
		fmt.Fprintf(g.Out, "goes on without a slot: %v\n", err)
		err = g.Slot.Claim(ctx, true)
	}
	if err != nil {
		g.withoutBudget(err)
	}
}

func (g *Guard) withoutBudget(why error) {
	fmt.Fprintf(g.Out, "goes on without the budget: %v\n", why)
	g.Slot = nil
}

// announce shows a pending stop in the status, until the wait is over, and reports
// whether it could.
func (g *Guard) announce(reason string) bool {
	g.announced = time.Now()
	_, err := g.store.Put(drain.Hold{
		Holder:      drain.Guard,
		Mode:        drain.Ready,
		Reason:      reason,
		Until:       g.stop.Deadline(g.Settings.Guard),
		UntilReboot: true,
	})
	if err != nil {
		fmt.Fprintf(g.Out, "the pending stop is not announced: %v\n", err)
	}
	return err == nil
}
