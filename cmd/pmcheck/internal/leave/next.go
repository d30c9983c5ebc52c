package leave

import (
	"errors"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Phase is a part of the way out. The first four of a stop share its turn, but for a slot, which may come later: see
// endOfSlot.
type Phase int

// The phases, in their order.
const (
	PhaseStart Phase = iota // until the daemon knows its balancers
	PhaseSlot               // until the budget has a slot
	PhaseFleet              // until the other masters can do without this one
	PhaseOut                // until every balancer has let go of the master
	PhaseIdle               // until the last agent has finished
	PhaseLast               // until each balancer that still sends has heard of the firm hold
)

// State is where a departure is. Next returns the next one, and changes none.
type State struct {
	Phase Phase
	times times

	blockers []status.Blocker // what was in the way last, in this phase
	clear    time.Time        // since when nothing is; zero while something is
	ask      time.Time        // when the budget or the fleet is asked again

	answered time.Time // when the budget's database answered last
	refusal  error     // of the last claim; nil once there is a slot
	forced   bool      // the slot was claimed although the budget refuses it

	fleet     fleet.Tally // the other masters, as they were seen last
	paused    bool        // they let the master go, and it has paused since
	muteSince time.Time   // since when none of them answers; zero while one does
	silent    string      // those that do not answer, as they were named last

	late error // why a stop leaves although agents may be left
}

// begin returns the state of a departure that begins.
func begin(p Policy, now time.Time) State {
	return State{times: times{began: now, turnEnd: now.Add(p.Limits.Turn)}}
}

// isOut reports whether every balancer has let go of the master, or is not waited for.
func (s State) isOut() bool { return !s.times.out.IsZero() }

// Action is what a departure does next.
type Action int

// The actions.
const (
	Wait  Action = iota // look again later: something is in the way
	Claim               // claim a slot of the budget
	Ask                 // ask the other masters
	Hold                // write the hold, of a level
	Lift                // lift the hold, and go on
	End                 // end the way out
)

// Step is what a departure does now.
type Step struct {
	Do       Action
	Level    drain.Leaving    // of Hold
	Force    bool             // of Claim: whatever the budget says
	Blockers []status.Blocker // of Wait: what is in the way
	Until    time.Time        // of Wait: when to look again, if that is soon
	Ends     bool             // of Hold: the way out ends with it
	Err      error            // of End: why the master has not left as asked
	Notes    []string         // what has been decided
}

// Next decides what a departure does: from where it is, what it sees, and what it may do without. It reads and changes
// nothing.
func Next(s State, f Facts, p Policy) (State, Step) {
	d := &decision{state: s, facts: f, policy: p}
	d.noteProgress()
	step := d.step()
	step.Notes = d.notes
	return d.state, step
}

// A decision is one call of Next.
type decision struct {
	state  State
	facts  Facts
	policy Policy
	notes  []string
}

func (d *decision) note(line string) { d.notes = append(d.notes, line) }

// noteProgress notes what makes the time of a phase longer or shorter.
func (d *decision) noteProgress() {
	t := d.state.times
	now := d.facts.Now
	if d.facts.HostStops && t.hostStops.IsZero() {
		t.hostStops = now
	}
	if d.facts.Unanswered == nil {
		t = t.withViews(d.policy.Limits.Turn, d.facts.Status, now)
	}
	d.state.times = t
}

func (d *decision) step() Step {
	if d.facts.NoStop != nil {
		return end(d.facts.NoStop)
	}
	if step, found := d.checkHold(); found {
		return step
	}

	// While the last agents finish, balancer.Rule gives the master back to a balancer that needs it.
	if !d.state.isOut() {
		if needs := d.mustStay(); len(needs) > 0 {
			return end(&Error{Kind: Refused, Text: "must stay in service", Left: needs})
		}
	}

	switch d.state.Phase {
	case PhaseStart:
		return d.start()
	case PhaseSlot:
		return d.slot()
	case PhaseFleet:
		return d.fleet()
	case PhaseOut:
		return d.out()
	case PhaseIdle:
		return d.idle()
	}
	return d.last()
}

func end(err error) Step { return Step{Do: End, Err: err} }

// checkHold ends the way out if the hold is not there any more. A hold whose end the clock has jumped over gets another
// end, if it is to last. It reports whether there is such a step.
func (d *decision) checkHold() (Step, bool) {
	own := d.facts.Own
	if own.Mode == "" {
		return Step{}, false
	}

	now := d.facts.Now.Round(0) // by the wall clock, as the end of a hold is
	hasEnded := !own.InEffect(now)
	isToLast := d.policy.until(own.Leaving, d.state.times.began, d.facts.Now).Round(0).After(now)
	if hasEnded && isToLast {
		return Step{Do: Hold, Level: own.Leaving}, true
	}
	if hasEnded || d.facts.Gone {
		return end(errGone), true
	}
	return Step{}, false
}

// enter begins a phase.
func (d *decision) enter(next Phase) {
	d.state.Phase = next
	d.state.blockers = nil
	d.state.clear = time.Time{}
	d.state.ask = time.Time{}
}

// An outcome is what comes of the blockers of a phase.
type outcome int

const (
	decided   outcome = iota // the step is what is done: it waits, or the way out ends
	unblocked                // nothing is in the way
	over                     // something is, the time of the phase is over, and the way out goes on
)

// judge returns what comes of what is in the way, which must be nothing for settled. What is not known counts until
// its end.
func (d *decision) judge(blockers []status.Blocker, settled time.Duration) (Step, outcome) {
	s := &d.state
	blockers = blocker.Counting(blockers, d.facts.Now)
	if len(blockers) > 0 {
		s.blockers = blockers
		s.clear = time.Time{}
	} else if s.clear.IsZero() {
		s.clear = d.facts.Now
	}

	isSettled := !s.clear.IsZero() && d.facts.Now.Sub(s.clear) >= settled
	if isSettled {
		return Step{}, unblocked
	}
	if d.facts.Now.Before(d.deadline()) {
		return Step{Do: Wait, Blockers: blockers, Until: s.ask}, decided
	}

	if s.blockers == nil {
		s.blockers = blocker.Only(blocker.Unknown, "not clear for %s", settled)
	}
	if d.policy.Late == Refuse {
		return end(d.tooLate()), decided
	}
	return Step{}, over
}

// deadline returns when the phase is over.
func (d *decision) deadline() time.Time {
	t := d.state.times
	if d.policy.Whole > 0 {
		return t.began.Add(d.policy.Whole)
	}

	if d.servesToTheEnd() {
		return t.mustStop(d.policy.Limits)
	}
	return t.endOf(d.state.Phase, d.policy.Limits)
}

// servesToTheEnd reports whether this is a last server on a host that shuts down: it serves on until it must stop. What
// follows the hold blindly would take it from its agents as soon as it is held.
func (d *decision) servesToTheEnd() bool {
	hostStops := !d.state.times.hostStops.IsZero()
	switch d.state.Phase {
	case PhaseFleet:
		return hostStops && d.state.fleet.Serving == 0 && d.isFollowedBlindly()
	case PhaseIdle:
		return hostStops && d.hearing().WithAgents().AllStranded()
	default:
		return false
	}
}

// start waits until the daemon knows its balancers. A request that waits for nothing looks once.
func (d *decision) start() Step {
	// A silent daemon may be telling balancers to use this master, whatever the hold says.
	f := d.facts
	if f.isSilent() && d.policy.NotKnown == Refuse {
		unanswered := blocker.NotKnown(f.Unanswered)
		return end(&Error{Kind: Silent, Text: "the daemon runs, and does not answer", Left: unanswered})
	}
	if d.policy.Now || f.isSilent() || f.isAbsent() {
		return d.askPool()
	}

	blockers := blocker.NotKnown(f.Unanswered)
	if f.Unanswered == nil {
		service := d.policy.Service
		if _, err := f.Status.Service(service); service != drain.EveryService && err != nil {
			return end(err)
		}
		blockers = f.Status.Unseen(d.policy.MustListen)
		if d.policy.Force {
			blockers = nil
		}
	}
	if step, result := d.judge(blockers, 0); result == decided {
		return step
	}
	return d.askPool()
}

// askPool asks the budget first or, if there is none, the other masters. The balancers are asked by the daemon, check
// by check, as soon as there is a hold that is leaving.
func (d *decision) askPool() Step {
	if d.waitsForNobody() {
		return d.hold(drain.Firm)
	}
	if d.facts.HasBudget && budget.Counts(d.policy.Service) {
		d.enter(PhaseSlot)
		d.state.answered = d.facts.Now
		return d.slot()
	}
	return d.withoutBudget()
}

// withoutBudget asks the other masters, where they count.
func (d *decision) withoutBudget() Step {
	if d.policy.Force {
		return d.hold(drain.Firm)
	}
	if d.asksFleet() {
		d.enter(PhaseFleet)
		return d.fleet()
	}
	return d.holdByViews()
}

// holdByViews holds so that each balancer is asked whether it can do without this master.
func (d *decision) holdByViews() Step {
	isKnown := d.isPooled() || d.asksFleet() || d.isOnlyServer()
	if !isKnown {
		d.note("nothing tells whether the pool can do without this master: " +
			"no balancer shows another server, and budget and fleet are not asked")
	}
	return d.hold(drain.LeavingInTurn)
}

// hold returns the step that writes the hold. Balancers are waited for then, but --now waits for none, and without a
// daemon none hears of it.
func (d *decision) hold(level drain.Leaving) Step {
	isUnheard := d.policy.Now || d.facts.isAbsent()
	if isUnheard && !d.policy.Idle {
		return Step{Do: Hold, Level: drain.Firm, Ends: true}
	}
	if d.policy.Now {
		d.enter(PhaseIdle)
		d.state.times.out = d.facts.Now
		return Step{Do: Hold, Level: level}
	}

	d.nameOthers(level)
	d.enter(PhaseOut)
	return Step{Do: Hold, Level: level}
}

// out waits until every balancer has let go of the master. A stop whose turn is over leaves wherever there is another
// server, while it waits for its agents.
func (d *decision) out() Step {
	step, result := d.judge(d.remaining(), 0)
	if result == decided {
		return step
	}

	why := blocker.Summary(d.state.blockers)
	d.enter(PhaseIdle)
	d.state.times.out = d.facts.Now
	if result == over {
		d.note("goes on wherever there is another server: " + why)
		return Step{Do: Hold, Level: drain.LeavingBesideSpare}
	}
	return d.idle()
}

// idle waits, if asked, until the last agent has finished.
func (d *decision) idle() Step {
	if !d.policy.Idle {
		return Step{Do: Hold, Level: drain.Firm, Ends: true}
	}
	if !d.expectsAgents() {
		return d.firm()
	}
	if errors.Is(d.facts.Uncounted, errNotCounted) { // the next look counts them
		return Step{Do: Wait}
	}

	step, result := d.judge(d.remaining(), status.ClearFor)
	if result == decided {
		return step
	}
	if result == over {
		d.state.late = d.tooLate()
	}
	return d.firm()
}

// firm makes the hold firm: the work of the caller may begin. A balancer that has kept the master until now gets some
// time to let go, so that a backup takes over before the port closes.
func (d *decision) firm() Step {
	d.enter(PhaseLast)
	d.state.times.firm = d.facts.Now
	return Step{Do: Hold, Level: drain.Firm}
}

// last waits until each balancer has heard of the firm hold.
func (d *decision) last() Step {
	if step, result := d.judge(d.lingering(), 0); result == decided {
		return step
	}
	return end(d.state.late)
}
