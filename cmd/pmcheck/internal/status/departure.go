package status

import (
	"errors"
	"slices"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/drain"
)

// Departure is how far a service is on its way out of its pool, and back: what its balancers are told, and what they
// have done about it. Whatever shows that shows this.
type Departure struct {
	// Leaving is what the hold waits for, if the work of its holder has not begun.
	Leaving drain.Leaving `json:"leaving,omitempty"`
	// Out says that the service is held, and that every balancer has let go of it.
	Out bool `json:"out"`
	// Idle says that the service is out, and that no agent is at work on it: there are no blockers.
	Idle bool `json:"idle"`
	// OnlyServer says that a balancer keeps the service because it has no other server, and expects none back: a drain
	// is refused.
	OnlyServer bool `json:"only_server"`
	// Blockers keep a held service from being idle: balancers that have not let go and, once none of these has to do so
	// first, agents. While it is ready, they are what a drain would be refused for, or would wait for, but for the other
	// masters of a fleet, which have to be asked.
	Blockers []Blocker `json:"blockers,omitempty"`
	// Return keeps the service from being in service: the hold, its answer, the gate, or balancers that do not send
	// yet.
	Return []Blocker `json:"return_blockers,omitempty"`
}

// Explained returns blockers, and says of a balancer why it keeps the service, as far as the daemon knows.
func (d Departure) Explained(blockers []Blocker) (list []Blocker) {
	for _, o := range blockers {
		isSame := func(known Blocker) bool { return o.Of != "" && o.Of == known.Of }
		if at := slices.IndexFunc(d.Blockers, isSame); at >= 0 {
			o = d.Blockers[at]
		}
		list = append(list, o)
	}
	return list
}

// errNotAsked is what is known of connections if the facts do not tell.
var errNotAsked = errors.New("the connections of the master are not asked for")

// departure returns the departure of a service at this moment.
func (of Facts) departure(s *Status, v ServiceStatus, moment answer.Moment) Departure {
	// A drain does not wait for a backend that only takes turns, and has this master alone by mistake.
	awaited := *s
	mistaken := s.Balancers.Turns().OnlyServer(s.Time)
	awaited.Balancers = s.Balancers.Without(mistaken)
	isMistaken := func(o Blocker) bool {
		return slices.ContainsFunc(mistaken, func(b Balancer) bool { return b.Label() == o.Of })
	}

	rule := balancer.NewRule(moment, of.State.Leaves(s.Time), of.Settings.MaxOut)
	keeps := slices.DeleteFunc(rule.Keeps(s.Balancers, s.Budget != nil), isMistaken)
	isLast := func(o Blocker) bool { return o.Kind == blocker.OnlyServer }

	d := Departure{
		Leaving:    moment.Leaving,
		OnlyServer: slices.ContainsFunc(keeps, isLast),
		Return:     s.Returning(v),
	}
	if v.Mode == drain.Ready {
		d.Blockers = append(keeps, s.OverBudget(v.Name)...)
		d.Blockers = append(d.Blockers, s.Unseen(HeardAll)...)
		return d
	}

	d.Blockers = blocker.Join(keeps, awaited.Untold(v, HeardAll))
	d.Out = len(d.Blockers) == 0
	if agentsAreAwaited(v, d.Blockers) {
		d.Blockers = append(d.Blockers, of.busy(s, v)...)
	}
	d.Idle = len(d.Blockers) == 0
	return d
}

// agentsAreAwaited reports whether a hold waits for agents. While it waits for a balancer first, they come and go. A
// balancer that has this master alone is not waited for, and after its turn a stop waits for both.
func agentsAreAwaited(v ServiceStatus, blockers []Blocker) bool {
	isBalancer := func(o Blocker) bool { return o.Of != "" && o.Kind != blocker.OnlyServer }
	turnIsOver := v.Departure.Leaving == drain.LeavingBesideSpare
	return turnIsOver || !slices.ContainsFunc(blockers, isBalancer)
}

// busy returns what keeps a service that is held from being idle once it is out.
func (of Facts) busy(s *Status, v ServiceStatus) []Blocker {
	var list []sockets.Connection
	err := errNotAsked
	if v.Name != drain.Master {
		err = nil // it has no connections of its own
	} else if of.Connections != nil {
		list, err = of.Connections()
	}

	blockers := s.Busy(v, list)
	if err != nil {
		blockers = append(blockers, blocker.NotKnown(err)...)
	}
	return blockers
}

// MayRestart answers whether a service may be restarted now, in a sentence, and what is in the way. The
// answer is empty for a service that is not held and does not serve anyway.
func (s Status) MayRestart(v ServiceStatus) (says string, blockers []Blocker) {
	isHeld := v.Mode != drain.Ready
	if !isHeld && !v.Verdict.Health.Serves() {
		return "", nil
	}

	for _, c := range v.Checks {
		if c.KeepsFromStarting() {
			return "Not yet: Puppet Server may not start again, see check " + c.Check + ".", nil
		}
	}
	if isHeld {
		return s.mayRestartHeld(v)
	}

	blockers = v.Departure.Blockers
	if v.Departure.OnlyServer {
		return "It must stay in service:", blockers
	}
	isRefused := s.Budget != nil && !s.Budget.Reachable
	if isRefused && len(blockers) > 0 {
		return "A drain would be refused:", blockers
	}
	if len(blockers) > 0 {
		return "It would have to wait before it leaves:", blockers
	}
	if returns := v.Departure.Return; len(returns) > 0 {
		return "Not in service everywhere yet:", returns
	}
	if v.Name != drain.Master {
		return "", nil // its restart is Puppet Server's, or another program's
	}
	if s.Guarded {
		return "systemctl restart drains it first.", nil
	}
	return "Drain it before a restart.", nil
}

// mayRestartHeld is MayRestart for a service that is held.
func (s Status) mayRestartHeld(v ServiceStatus) (says string, blockers []Blocker) {
	blockers = v.Departure.Blockers
	isLeaving := v.Departure.Leaving != drain.Firm
	const idle = ": no agent is at work on it."
	if does := s.guarding(v); does != "" {
		if len(blockers) > 0 {
			return does + ", and waits for what follows:", blockers
		}
		return does + idle, nil
	}
	hasNotLeft := isLeaving && !v.Departure.Out
	if hasNotLeft && len(blockers) > 0 {
		return "It has not left yet: do not restart it.", blockers
	}

	// It has left, or nothing keeps it from leaving.
	if len(blockers) > 0 {
		return "Not idle yet: do not restart it.", blockers
	}
	// What systemd has begun is better not interrupted.
	if does := underWay(v.Verdict); does != "" {
		return does + idle, nil
	}
	if v.Name != drain.Master {
		return "No balancer sends to it.", nil
	}
	if isLeaving { // nobody waits for it any more, and a balancer that needs it gets it back
		return "Idle, but it may return to the pool by itself: drain it again before a restart.", nil
	}
	return "Idle: it may be restarted now.", nil
}

// guarding says what systemd is about to do with a held service, by a hold of its guard that is leaving; empty if there
// is none.
func (s Status) guarding(v ServiceStatus) string {
	for _, h := range s.Holds {
		isLeaving := h.Leaving != drain.Firm && h.Covers(v.Name)
		if isLeaving && h.Holder == drain.Guard {
			return "systemctl is stopping it"
		}
		if isLeaving && h.Holder == drain.Reload {
			return "systemctl is reloading it"
		}
	}
	return ""
}

// underWay says what Puppet Server does that is better not interrupted; empty if that is nothing.
func underWay(v check.Verdict) string {
	switch v.Reason {
	case check.UnitStopping:
		return "Puppet Server is stopping"
	case check.UnitReloading:
		return "Puppet Server is reloading"
	}
	if v.Health == check.Warming {
		return "Puppet Server is starting"
	}
	return ""
}
