package leave

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/obstacle"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// claimEvery is how often a slot in the budget is claimed while others have it.
	claimEvery = 2 * time.Second
	// budgetPause is how long a stop waits for a database that does not answer.
	budgetPause = 30 * time.Second
)

// A slotTurn is a departure's turn in the budget.
type slotTurn struct {
	departure *departure
	want      budget.Claim
	answered  time.Time // when the database answered last
	refusal   error     // of the last claim; nil once there is a slot
}

// claimSlot asks the first witness: the budget. It blocks until there is a slot, and reports whether the budget counts.
// It does not count without a budget, nor if the database does not answer a stop, which asks the fleet next, or
// --force, which asks nobody.
func (d *departure) claimSlot(ctx context.Context) (counts bool, err error) {
	if d.world.Claim == nil || !status.Budgeted(d.want.Hold.Service) {
		return false, nil
	}

	t := &slotTurn{departure: d, want: d.newClaim(), answered: time.Now()}
	left, err := d.wait(ctx, phaseSlot, 0, t.look)

	noAnswer := errors.Is(t.refusal, budget.ErrUnreachable)
	noOtherError := err == nil || errors.Is(err, t.refusal) // not a stop that was cancelled, nor a master that must stay
	if noAnswer && noOtherError && d.party.insists() {
		d.world.Note("goes on without the budget: " + t.refusal.Error())
		return false, nil
	}
	if err != nil {
		return true, err
	}

	// The time is over, and the service stops in any case. Other masters must see that this one is out.
	if left != nil {
		t.want.Force = true
		_ = d.world.Claim(ctx, t.want)
	}
	return true, nil
}

// look claims the slot.
func (t *slotTurn) look(ctx context.Context) ([]status.Obstacle, error) {
	d := t.departure
	d.seen.next(ctx) // what balancers show may forbid the way out meanwhile
	t.refusal = d.world.Claim(ctx, t.want)
	if t.refusal == nil {
		d.patience.noteSlot()
		return nil, nil
	}

	taken, isTaken := errors.AsType[*budget.TakenError](t.refusal)
	if isTaken {
		t.answered = time.Now()
		d.patience.noteSlots(taken.Slots)
	}
	if !isTaken && !d.party.retries(time.Since(t.answered)) {
		return nil, t.refusal
	}

	pause(ctx, claimEvery)
	return obstacle.Only(obstacle.Budget, "%s", t.refusal), nil
}

// newClaim returns what the budget is asked. A master whose daemon does not answer is taken for one in service.
func (d *departure) newClaim() budget.Claim {
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
