package leave

import (
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// fleetPause is the difference of the pauses of two masters: the longest answer, 2 s, and some time for the daemon to
// notice a hold.
const fleetPause = 2500 * time.Millisecond

// fleet waits until the other masters of the fleet let this one go. They must do so twice: masters that leave
// at the same time pause for different times in between. If something follows the hold blindly, they must do so once
// more when the hold is in effect: of two masters that hold in the same moment, at least one sees the other.
func (d *decision) fleet() Step {
	s := &d.state
	isHeld := d.facts.Own.Mode != ""
	if isHeld && !d.inEffect() {
		return d.waitForFleet("asks the fleet once more, held")
	}
	if d.facts.Fleet == nil {
		return d.askAgain(Step{Do: Ask})
	}

	d.noteFleet()
	blockers := blocker.Counting(d.byFleet(), d.facts.Now)
	if isLastMaster(blockers) {
		return d.withoutOthers(blockers)
	}
	if len(blockers) > 0 {
		return d.keptByFleet(blockers)
	}

	if !s.paused {
		s.paused = true
		again := fleetPause * time.Duration(d.facts.Fleet.Place%fleet.Places)
		s.ask = d.facts.Now.Add(again)
		return d.waitForFleet("asks the fleet again in %s", again)
	}
	isLastQuestion := isHeld || !d.isFollowedBlindly()
	if isLastQuestion {
		return d.holdByViews()
	}
	return Step{Do: Hold, Level: drain.LeavingInTurn}
}

// waitForFleet waits, and says for what.
func (d *decision) waitForFleet(format string, args ...any) Step {
	step, result := d.judge(blocker.Only(blocker.Needed, format, args...), 0)
	if result == decided {
		return step
	}
	return d.withoutFleet()
}

// keptByFleet waits until the others let this master go. A hold that was set for the last question is lifted, and the
// questions begin again.
func (d *decision) keptByFleet(blockers []status.Blocker) Step {
	d.state.paused = false
	d.state.ask = d.facts.Now.Add(fleetPause)
	step, result := d.judge(blockers, 0)
	if result == over {
		return d.withoutFleet()
	}
	isHeld := d.facts.Own.Mode != ""
	if isHeld && step.Do == Wait {
		step.Do = Lift
	}
	return step
}

// withoutFleet goes on, since the time is over.
func (d *decision) withoutFleet() Step {
	d.note("goes on without the fleet: " + blocker.Summary(d.state.blockers))
	return d.holdByViews()
}

// withoutOthers refuses a command. A stop goes on: no other master will let it go.
func (d *decision) withoutOthers(blockers []status.Blocker) Step {
	if d.policy.NotKnown == Refuse {
		return end(&Error{Kind: Refused, Text: "must stay in service", Left: blockers})
	}
	d.note("does not wait for the fleet: " + blocker.Summary(blockers))
	return d.holdByViews()
}

// noteFleet notes who does not answer, names them if they are others than before, and notes who has come back.
func (d *decision) noteFleet() {
	s := &d.state
	s.fleet = d.facts.Fleet.Tally
	s.times = s.times.withFleet(d.policy.Limits.Turn, s.fleet.Out, s.fleet.Others, d.facts.Now)

	isMute := s.fleet.Others > 0 && len(s.fleet.Silent) == s.fleet.Others
	if !isMute {
		s.muteSince = time.Time{}
	} else if s.muteSince.IsZero() {
		s.muteSince = d.facts.Now
	}

	silent := strings.Join(s.fleet.Silent, ", ")
	if silent != "" && silent != s.silent {
		d.note("no answer from the fleet's " + silent)
	}
	s.silent = silent
}

// byFleet returns what the fleet says, as far as it counts beside what balancers show.
func (d *decision) byFleet() []status.Blocker {
	isPooled := d.isPooled()

	// Where the daemon's rule protects the pool, a fleet that is silent as a whole delays a master for some time only:
	// its allow perhaps names balancers only. The rule does not protect from what follows the hold blindly.
	since := d.state.muteSince
	isMute := !since.IsZero()
	if isMute && isPooled && !d.isFollowedBlindly() {
		return blocker.NotKnownUntil(since.Add(muteTime), "%s", blocker.Summary(d.state.fleet.Blockers))
	}

	// A master that has been leaving for balancer.ExpectedBack, as a stranger can bring about, looks gone to the others,
	// but not to its balancers. A stop goes on waiting for its turn then.
	list := d.state.fleet.Blockers
	if isLastMaster(list) && isPooled && d.policy.NotKnown == GoOn {
		return blocker.Only(blocker.Needed, "%s, but a balancer has another server", list[0].Text)
	}
	return list
}

// isLastMaster reports whether no other master of the fleet serves, or is expected to.
func isLastMaster(list []status.Blocker) bool {
	return len(list) > 0 && list[0].Kind == blocker.OnlyServer
}

// asksFleet reports whether the fleet is asked about a service in a mode: unless views of balancers that the
// configuration names decide. A budget that counts is asked instead of the fleet.
func asksFleet(hasFleet bool, s status.Status, service drain.Service, mode drain.Mode) bool {
	return hasFleet && budget.Counts(service) && !s.Balancers.Decide(drain.Master, mode, s.Time)
}

func (d *decision) asksFleet() bool {
	return asksFleet(d.facts.HasFleet, d.facts.Status, d.policy.Service, d.policy.Mode)
}

// isFollowedBlindly reports whether something follows the hold as soon as it is written: a balancer without a view, or
// the gate. Of a silent daemon it is assumed.
func (d *decision) isFollowedBlindly() bool {
	s := d.facts.Status
	return d.facts.isSilent() || len(d.hearing().Blind()) > 0 || s.Gate.Runs(s.Time)
}

// inEffect reports whether the daemon acts on the hold. It is assumed of a silent daemon, and once no daemon runs:
// nothing would tell.
func (d *decision) inEffect() bool {
	v, _ := d.facts.Status.Service(d.policy.Service.Shown())
	return d.facts.isSilent() || d.facts.isAbsent() || v.Mode != drain.Ready
}
