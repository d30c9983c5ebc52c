package leave

import (
	"errors"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
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
	isUnreachable := errors.Is(s.refusal, budget.ErrUnreachable)
	silentFor := d.facts.Now.Sub(s.answered)
	if isUnreachable && silentFor >= d.policy.AskDatabase {
		if d.policy.NotKnown == Refuse {
			return end(s.refusal)
		}
		return d.goOnWithoutBudget()
	}

	s.ask = d.facts.Now.Add(claimEvery)
	refused := blocker.Only(blocker.Budget, "%s", s.refusal)
	if isUnreachable {
		refused = blocker.NotKnownUntil(s.answered.Add(d.policy.AskDatabase), "%s", s.refusal)
	}
	step, is := d.judge(refused, 0)
	// No other master can serve the agents of an only server, so it is no use to wait for a slot.
	isUseless := d.policy.Late == GoOn && d.isOnlyServerOfListed()
	if is == decided && !isUseless {
		return step
	}
	if isUnreachable {
		return d.goOnWithoutBudget()
	}

	// The service stops in any case. Other masters must see that this one is out.
	d.note("goes on without a slot: " + blocker.Summary(s.blockers))
	s.forced = true
	return Step{Do: Claim, Force: true}
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

func (d *decision) goOnWithoutBudget() Step {
	d.note("goes on without the budget: " + d.state.refusal.Error())
	return d.withoutBudget()
}

// holdWithSlot holds so that balancers must only show another server.
func (d *decision) holdWithSlot() Step {
	if d.policy.Force {
		return d.hold(drain.Firm)
	}
	return d.hold(drain.LeavingWithSlot)
}
