package leave

import (
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// What the facts say of balancers and agents. What is in the way, as far as a Status shows it, is in
// status/questions.go.

// hearing returns the balancers that hear of the hold.
func (d *decision) hearing() balancer.List {
	return d.facts.Status.Balancers.Hearing(d.policy.Service, d.policy.Mode)
}

// isOnlyServer reports whether every balancer has this master alone, and expects no other server.
func (d *decision) isOnlyServer() bool { return d.hearing().AllOnlyServer(d.facts.Status.Time) }

// isPooled reports whether a balancer shows another server, expects one back, or has just started.
func (d *decision) isPooled() bool { return len(d.hearing().Pool(d.facts.Status.Time)) > 0 }

// waitsForNobody reports whether no balancer and no other master has to agree.
func (d *decision) waitsForNobody() bool {
	// Without a daemon, no balancer hears of the hold.
	if d.policy.Now || d.facts.isAbsent() {
		return true
	}
	isSeen := d.facts.Unanswered == nil // what a silent daemon showed last may have changed
	return isSeen && hasLeft(d.facts.Status, d.policy.Service, d.policy.Mode)
}

// hasLeft reports whether a service is out, and no balancer that hears of a mode may use what leaves with it.
func hasLeft(s status.Status, service drain.Service, mode drain.Mode) bool {
	v, err := s.Service(service.Shown())
	isOut := err == nil && (isHeldFirmly(v) || v.Unfit())
	mayUse := func(b status.Balancer) bool { return !isToldOut(s, b) }
	return isOut && !slices.ContainsFunc(s.Balancers.Hearing(service, mode), mayUse)
}

// isToldOut reports whether a balancer is told not to use its service, whatever a new hold says. One that asks for the
// hold alone hears nothing of the verdict.
func isToldOut(s status.Status, b status.Balancer) bool {
	v, err := s.Service(b.Service)
	hearsVerdict := !b.HidesVerdict()
	return err == nil && (isHeldFirmly(v) || v.Unfit() && hearsVerdict)
}

// isHeldFirmly reports whether a service has a firm hold: no balancer keeps it.
func isHeldFirmly(v status.ServiceStatus) bool {
	return v.Mode != drain.Ready && v.Departure.Leaving == drain.Firm
}

// mustStay names the balancers that cannot do without this master at all.
func (d *decision) mustStay() (list []status.Blocker) {
	if d.policy.OnlyServer == GoOn {
		return nil
	}
	for _, b := range d.hearing().WithAgents().Sending(d.facts.Status.Time) {
		if d.isNeededBy(&b) {
			list = append(list, b.Alone())
		}
	}
	return list
}

// isNeededBy reports whether a balancer has no other server, and expects none back. A master that is out already is not
// needed.
func (d *decision) isNeededBy(b *status.Balancer) bool {
	if v, _ := d.facts.Status.Service(b.Service); isHeldFirmly(v) {
		return false
	}

	// With --now there is no time for another server to come back.
	if d.policy.Now {
		return b.View != nil && b.View.Last()
	}
	return b.OnlyServer(d.facts.Status.Time)
}

// awaited returns the balancers that must let go of the master while its hold is of this level. A balancer that has
// this master alone keeps it until the hold is firm. A command is refused by such a balancer; what is left then is a
// backend for turns, which has this master alone by mistake, and no agents.
func (d *decision) awaited(all balancer.List, level drain.Leaving) balancer.List {
	now := d.facts.Status.Time
	if d.policy.OnlyServer == Refuse {
		return all.Without(d.hearing().Turns().OnlyServer(now))
	}
	if level == drain.Firm {
		return all
	}
	return all.Without(d.hearing().OnlyServer(now))
}

// nameOthers names the balancers that are not waited for: balancers that the configuration does not list, balancers
// that have this master alone, and clients that look like balancers and are refused an answer, so that they cannot
// hear of the hold.
func (d *decision) nameOthers(level drain.Leaving) {
	seen := d.facts.Status
	for _, b := range seen.Unlisted {
		d.note(fmt.Sprintf("does not wait for balancer %s at %s, which balancers in pmcheck.yaml does not list",
			b.Label(), b.Source))
	}
	all := d.hearing()
	for _, b := range all.Without(d.awaited(all, level)) {
		d.note(fmt.Sprintf("does not wait for balancer %s, which has no other server than %s", b.Label(), b.Server()))
	}
	for _, r := range seen.Refused.Asking(seen.Time) {
		d.note("does not wait for a client that is refused: " + r.String())
	}
}

// remaining returns the balancers that have not let go and, once no more is waited for, the agents that have not
// finished.
func (d *decision) remaining() []status.Blocker {
	f := d.facts
	if f.Unanswered != nil {
		return d.unattended()
	}
	if d.state.isOut() && f.Uncounted != nil {
		return blocker.NotKnown(f.Uncounted)
	}
	if d.state.isOut() && !d.expectsAgents() {
		return nil
	}
	return d.shown()
}

// unattended is remaining beside a daemon that does not answer.
func (d *decision) unattended() []status.Blocker {
	f := d.facts
	goesOnUnheard := f.isAbsent() || f.isSilent() && d.policy.NotKnown == GoOn
	if !goesOnUnheard {
		return blocker.NotKnown(f.Unanswered)
	}

	list := status.Unattended(f.Now.Sub(f.unansweredSince()))
	if !d.state.isOut() {
		return list
	}
	if f.Uncounted != nil {
		return blocker.NotKnown(f.Uncounted)
	}
	return append(list, f.Status.AtWork(f.agents(), f.Own.Leaving)...)
}

// shown returns what the last status shows of what remains.
func (d *decision) shown() (list []status.Blocker) {
	seen := d.facts.Status
	awaited := seen
	awaited.Balancers = d.awaited(seen.Balancers, d.facts.Own.Leaving)
	for _, v := range awaited.Services {
		if !d.policy.Service.Covers(v.Name) {
			continue
		}
		untold := awaited.Untold(v, d.policy.MustListen)
		list = append(list, v.Departure.Explained(untold)...)
		if d.state.isOut() {
			list = append(list, seen.Busy(v, d.facts.agents())...)
		}
	}
	return list
}

// lingering returns the balancers that have not let go although the hold is firm.
func (d *decision) lingering() (list []status.Blocker) {
	f := d.facts
	if f.isAbsent() || f.isSilent() {
		return blocker.NotKnownUntil(d.state.times.firm, "which balancers have heard of the hold: %s", f.Unanswered)
	}
	if f.Unanswered != nil {
		return blocker.NotKnown(f.Unanswered)
	}

	awaited := f.Status
	awaited.Balancers = d.hearing().WithAgents()
	for _, v := range awaited.Services {
		list = append(list, awaited.Behind(v)...)
	}
	return list
}

// expectsAgents reports whether agents that may be left, or may come, are waited for.
func (d *decision) expectsAgents() bool {
	if !d.policy.SkipsStranded {
		return true
	}
	return !d.strandsAgents() && !d.facts.Status.Unheard(d.state.times.out)
}

// strandsAgents reports whether agents can go nowhere else, and come until the end.
func (d *decision) strandsAgents() bool {
	seen := d.facts.Status

	// The gate refuses agents, and they ask their next server.
	if seen.Gate.Runs(seen.Time) {
		return false
	}

	// A client that may prove to be a balancer, or is not remembered, may have other servers.
	hearing := d.hearing()
	isUnknown := len(hearing.MayCount()) > 0 || seen.Time.Before(seen.UnseenUntil)
	if isUnknown {
		return false
	}

	if d.isOnlyServer() {
		return true
	}

	// The other servers are expected back. The stop has waited for them for its turn; a shutdown waits to the end.
	t := d.state.times
	hostStops := !t.hostStops.IsZero()
	turnIsOver := !d.facts.Now.Before(t.endOfTurn(d.policy.Limits))
	return hearing.AllStranded() && turnIsOver && !hostStops
}

// tooLate returns the error of a phase that is over.
func (d *decision) tooLate() *Error {
	e := &Error{Kind: Refused, Left: d.state.blockers}
	waited := d.policy.Whole
	if waited == 0 {
		waited = d.facts.Now.Sub(d.state.times.began).Round(time.Second)
	}
	e.Text = fmt.Sprintf("not out within %s", waited)

	switch d.state.Phase {
	case PhaseStart:
		if d.facts.Daemon != DaemonAnswers {
			e.Kind = Silent
			e.Text = fmt.Sprintf("the daemon has not answered within %s", waited)
		}
	case PhaseSlot:
		e.Text = "no slot in time"
	case PhaseFleet:
		e.Text = "its turn has not come"
	case PhaseIdle:
		e.Kind = NotIdle
		e.Text = fmt.Sprintf("not idle within %s", waited)
	default:
		isFirm := d.facts.Own.Mode != "" && d.facts.Own.Leaving == drain.Firm
		if isFirm {
			e.Kind = NotIdle // the hold stays: it is a matter of time
		}
	}
	return e
}
