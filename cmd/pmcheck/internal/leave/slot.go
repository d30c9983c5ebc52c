package leave

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// claimEvery is how often a slot in the budget is claimed while others have it.
	claimEvery = 2 * time.Second
	// budgetPause is how long a stop waits for a database that does not answer.
	budgetPause = 30 * time.Second
)

// claimSlot is the first witness: the budget. It reports whether the budget counts: without one, and for a stop
// whose database does not answer, it does not. A stop that gets no slot in time is recorded as out all the same.
func (d *departure) claimSlot(ctx context.Context) (counts bool, err error) {
	if d.world.Claim == nil || !Budgeted(d.want.Hold.Service) {
		return false, nil
	}

	want := d.claim()
	answered := time.Now()
	var last error
	left, err := d.wait(ctx, phaseSlot, 0, func(ctx context.Context) ([]status.Obstacle, error) {
		d.seen.next(ctx) // what balancers show may forbid the way out meanwhile
		last = d.world.Claim(ctx, want)
		if last == nil {
			return nil, nil
		}
		taken, isTaken := errors.AsType[*budget.TakenError](last)
		if isTaken {
			answered = time.Now()
			d.patience.noteSlots(taken.Slots)
		} else if !d.party.retries(time.Since(answered)) {
			return nil, last
		}
		pause(ctx, claimEvery)
		return obstacle(balancer.ObstacleBudget, "%s", last), nil
	})

	if errors.Is(last, budget.ErrUnreachable) && d.party.insists() && isOf(err, last) {
		d.world.Note("goes on without the budget: " + last.Error())
		return false, nil
	}
	if err == nil && left != nil {
		want.Force = true
		_ = d.world.Claim(ctx, want) // others must see it, but the service stops in any case
	}
	return true, err
}

// isOf reports whether there is no error but that of the database.
func isOf(err, last error) bool { return err == nil || errors.Is(err, last) }

// claim returns what the budget is asked. A master of which that is not known is taken for one that serves.
func (d *departure) claim() budget.Claim {
	by := d.want.Hold.Holder
	if by == drain.Operator {
		by = cmp.Or(os.Getenv("SUDO_USER"), by)
	}
	return budget.Claim{
		Reason: d.want.Hold.Reason,
		By:     by,
		Serves: d.seen.presence != answers || d.seen.status.Serves(),
		Force:  d.want.Force,
	}
}
