package leave

import (
	"errors"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// claimEvery is how often a slot in the budget is claimed while others have it.
const claimEvery = 2 * time.Second

// slot waits until the budget has a slot. If its database does not answer, a stop asks the fleet
// next, and --force nobody.
func (d *decision) slot() Step {
	s := &d.state
	if d.facts.Slot == nil {
		return d.askAgain(Step{Do: Claim, Force: d.policy.Force})
	}
	if s.forced {
		return d.hold(drain.LeavingWithSlot)
	}

	s.refusal = d.facts.Slot.Refusal
	d.noteSlots()
	if s.refusal == nil {
		return d.holdWithSlot()
	}
	if errors.Is(s.refusal, budget.ErrUnreachable) {
		return d.withoutDatabase()
	}
	if step, waits := d.waitForSlot(blocker.Only(blocker.Budget, "%s", s.refusal)); waits {
		return step
	}

	// The service stops in any case. Other masters must see that this one is out.
	d.note("goes on without a slot: " + blocker.Summary(s.blockers))
	s.forced = true
	return Step{Do: Claim, Force: true}
}

// withoutDatabase waits while the database may be restarting.
func (d *decision) withoutDatabase() Step {
	s := &d.state
	silentFor := d.facts.Now.Sub(s.answered)
	isOver := silentFor >= d.policy.AskDatabase
	if isOver && d.policy.NotKnown == Refuse {
		return end(s.refusal)
	}
	if !isOver {
		unknown := blocker.NotKnownUntil(s.answered.Add(d.policy.AskDatabase), "%s", s.refusal)
		if step, waits := d.waitForSlot(unknown); waits {
			return step
		}
	}

	d.note("goes on without the budget: " + s.refusal.Error())
	return d.withoutBudget()
}

// waitForSlot waits until the claim is made again, unless the phase is over. A stop does not wait where no other master
// can serve the agents: a slot is of no use then.
func (d *decision) waitForSlot(why []status.Blocker) (step Step, waits bool) {
	d.state.ask = d.facts.Now.Add(claimEvery)
	step, result := d.judge(why, 0)
	isUseless := d.policy.Late == GoOn && d.isOnlyServerOfListed()
	return step, result == decided && !isUseless
}

// askAgain asks the budget or the fleet, but not before its time, unless the phase is over by now.
func (d *decision) askAgain(ask Step) Step {
	isDue := !d.facts.Now.Before(d.state.ask)
	isOver := !d.facts.Now.Before(d.deadline())
	if isDue || isOver {
		return ask
	}
	return Step{Do: Wait, Blockers: d.state.blockers, Until: d.state.ask}
}

// noteSlots notes that the database has answered, and what has changed hands. With a slot, the turn begins anew.
func (d *decision) noteSlots() {
	s := &d.state
	now := d.facts.Now
	turn := d.policy.Limits.Turn
	if s.refusal == nil {
		s.times = s.times.renewed(turn, now, LongestTurn)
		return
	}
	if taken, is := errors.AsType[*budget.TakenError](s.refusal); is {
		s.answered = now
		s.times = s.times.withSlots(turn, taken.Slots, now)
	}
}

// isOnlyServerOfListed reports whether the configuration names every balancer, and each has this master alone.
func (d *decision) isOnlyServerOfListed() bool {
	all := d.hearing().WithAgents()
	namesAll := len(all) == len(all.Trusted())
	return namesAll && d.isOnlyServer()
}

// holdWithSlot holds so that balancers must only show another server.
func (d *decision) holdWithSlot() Step {
	if d.policy.Force {
		return d.hold(drain.Firm)
	}
	return d.hold(drain.LeavingWithSlot)
}
