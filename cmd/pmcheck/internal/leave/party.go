package leave

import (
	"context"
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/obstacle"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// A phase is a part of the way out that ends. The first four of a stop share its turn.
type phase int

const (
	phaseStart phase = iota // until the daemon knows its balancers
	phaseSlot               // until the budget has a slot
	phaseFleet              // until the other masters can do without this one
	phaseTold               // until every balancer has let go of the master
	phaseIdle               // until the last agent has finished
	phaseLast               // until each balancer that still sends has heard of the firm hold
)

// A party wants the master out. A command is refused if the pool needs the master. The stop of a service happens in
// any case, and is never refused: it takes as much care as its time allows.
type party interface {
	// wanted returns an error once the master need not leave any more.
	wanted(ctx context.Context) error
	// mustStay returns why the pool cannot do without the master at all, and the party is refused.
	mustStay() []status.Obstacle
	// mustListen returns how long a daemon must have listened to know the balancers.
	mustListen() time.Duration
	// insists reports whether the master leaves although a witness does not answer, or its time is over.
	insists() bool
	// retries reports whether the budget's database is asked again after it has not answered for some time.
	retries(unanswered time.Duration) bool
	// waitsFor returns the balancers that must let go of the master: all of them, once the hold is firm.
	waitsFor(list balancer.List) balancer.List
	// expectsAgents reports whether agents that may be left, or may come, are waited for.
	expectsAgents() bool
	// end returns when a phase is over.
	end(of phase) time.Time
	// late returns the error of a phase that is over, and nil if the party goes on.
	late(of phase, left []status.Obstacle) error
	// until returns when a hold must end by itself; zero means never.
	until(leaving drain.Leaving) time.Time
}

func newParty(d *departure) party {
	if d.want.Stop == nil {
		return &command{way: d}
	}
	d.patience.limit(d.want.Stop.Limits)
	return &stop{way: d, guard: d.want.Stop}
}

// A command has one limit for all phases, and ends with an error when it is over.
type command struct{ way *departure }

func (c *command) wanted(context.Context) error { return nil }
func (c *command) insists() bool                { return c.way.want.Now || c.way.want.Force }
func (c *command) retries(time.Duration) bool   { return false }
func (c *command) expectsAgents() bool          { return true }
func (c *command) mustListen() time.Duration    { return status.HeardAll }
func (c *command) end(phase) time.Time          { return c.way.patience.began.Add(c.way.want.Wait) }

// waitsFor leaves out a backend for turns that has this master alone, by mistake: such a backend has no agents.
func (c *command) waitsFor(list balancer.List) balancer.List {
	return list.Without(c.way.hearing().Turns().Lone(c.way.seen.status.Time))
}

// mustStay names the balancers that cannot do without this master at all.
func (c *command) mustStay() (list []status.Obstacle) {
	if c.way.want.Force {
		return nil
	}
	for _, b := range c.way.hearing().WithAgents().Sending(c.way.seen.status.Time) {
		if c.isNeededBy(&b) {
			list = append(list, b.Alone())
		}
	}
	return list
}

// isNeededBy reports whether a balancer has no other server, and expects none back. A master that is out already is not
// needed.
func (c *command) isNeededBy(b *status.Balancer) bool {
	seen := c.way.seen.status
	if v, _ := seen.Service(b.Service); isOut(v) {
		return false
	}

	// With --now there is no time for another server to come back.
	if c.way.want.Now {
		return b.View != nil && b.View.Last()
	}
	return b.Lone(seen.Time)
}

func (c *command) late(of phase, left []status.Obstacle) error {
	e := &Error{Kind: Refused, Left: left}
	switch of {
	case phaseStart:
		e.Text = fmt.Sprintf("not out within %s", c.way.want.Wait)
		if c.way.seen.presence != answers {
			e.Kind = Silent
			e.Text = fmt.Sprintf("the daemon has not answered within %s", c.way.want.Wait)
		}
	case phaseSlot:
		e.Text = "no slot in time"
	case phaseFleet:
		e.Text = "its turn has not come"
	case phaseIdle:
		e.Kind = NotIdle
		e.Text = fmt.Sprintf("not idle within %s", c.way.want.Wait)
	default:
		e.Text = fmt.Sprintf("not out within %s", c.way.want.Wait)
		if c.way.set.Mode != "" && c.way.set.Leaving == drain.Firm {
			e.Kind = NotIdle // the hold stays: it is a matter of time
		}
	}
	return e
}

func (c *command) until(leaving drain.Leaving) time.Time {
	lasts := c.way.want.For
	if lasts == 0 {
		return c.way.want.Hold.Until
	}
	if leaving == drain.Firm {
		return time.Now().Add(lasts)
	}

	// The hold becomes firm when the wait is over, at the latest.
	return c.end(phaseIdle).Add(lasts)
}

// A stop goes its whole way while its time lasts, and then goes on.
type stop struct {
	way   *departure
	guard *Guard
}

// wanted asks systemd whether the service still is to stop, and notes that the host shuts down.
func (s *stop) wanted(ctx context.Context) error {
	hostStops, err := s.guard.check(ctx)
	if hostStops {
		s.way.patience.noteShutdown(time.Now())
	}
	return err
}

func (s *stop) mustStay() []status.Obstacle           { return nil }
func (s *stop) insists() bool                         { return true }
func (s *stop) mustListen() time.Duration             { return status.HeardUsual }
func (s *stop) retries(unanswered time.Duration) bool { return unanswered < budgetPause }

// end returns when a phase is over.
func (s *stop) end(of phase) time.Time {
	p := s.way.patience

	// No other master can serve the agents of balancers that the configuration names: whatever the budget says, it is
	// no use to wait.
	all := s.way.hearing().WithAgents()
	namesAll := len(all) == len(all.Trusted())
	if of == phaseSlot && namesAll && s.isOnlyServer() {
		return p.began
	}

	// While the host shuts down, a last server serves on until it must stop. What follows the hold blindly would take it
	// from its agents as soon as it is held.
	hostStops := !p.hostStops.IsZero()
	isLastByViews := of == phaseIdle && all.AllStranded()
	isLastByFleet := of == phaseFleet && s.way.others.Serving == 0 && s.way.followedBlindly()
	if hostStops && (isLastByViews || isLastByFleet) {
		return p.mustStop()
	}
	return p.end(of)
}

// isOnlyServer reports whether every balancer has this master alone, and expects no other server.
func (s *stop) isOnlyServer() bool { return s.way.hearing().AllLone(s.way.seen.status.Time) }

// waitsFor leaves out the lone balancers: they keep the master until the hold is firm.
func (s *stop) waitsFor(list balancer.List) balancer.List {
	if s.way.set.Leaving == drain.Firm {
		return list
	}
	return list.Without(s.way.lone())
}

func (s *stop) expectsAgents() bool {
	if s.strandsAgents() {
		return false
	}
	return !s.way.seen.status.Unheard(s.way.patience.toldAt)
}

// strandsAgents reports whether agents can go nowhere else, and come until the end: the stop does not wait for them.
func (s *stop) strandsAgents() bool {
	seen := s.way.seen.status

	// The gate refuses agents, and they ask their next server.
	if seen.Gate.Runs(seen.Time) {
		return false
	}

	// A client that may prove to be a balancer, or is not remembered, may have other servers.
	hearing := s.way.hearing()
	isUnknown := len(hearing.MayCount()) > 0 || seen.Time.Before(seen.UnseenUntil)
	if isUnknown {
		return false
	}

	if s.isOnlyServer() {
		return true
	}

	// The other servers are expected back. The stop has waited for them for its turn; a shutdown waits to the end.
	p := s.way.patience
	hostStops := !p.hostStops.IsZero()
	turnIsOver := !time.Now().Before(p.endOfTurn())
	return hearing.AllStranded() && turnIsOver && !hostStops
}

func (s *stop) late(of phase, left []status.Obstacle) error {
	why := obstacle.Summary(left)
	switch of {
	case phaseSlot:
		s.way.world.Note("goes on without a slot: " + why)
	case phaseTold:
		s.way.world.Note("goes on wherever there is another server: " + why)
	case phaseIdle:
		took := time.Since(s.way.patience.began).Round(time.Second)
		return &Error{Kind: NotIdle, Text: fmt.Sprintf("not idle within %s", took), Left: left}
	}
	return nil
}

// until returns an end that outlasts every wait, so that a hold whose lift is lost ends by itself.
func (s *stop) until(leaving drain.Leaving) time.Time {
	end := time.Now().Add(longestStart)
	if leaving == drain.Firm {
		return end
	}

	// A hold that is leaving may last: it takes no server from agents that need it.
	return end.Add(LongestTurn + s.guard.Limits.Wait + lastTime)
}
