package balancer

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// List are balancers of one master. Its methods say which of them count for a question; the package
// comment has them side by side.
type List []Balancer

// keep returns the balancers for which the condition is true, in a list of its own.
func (l List) keep(condition func(b *Balancer) bool) (kept List) {
	kept = List{} // never null in JSON
	for i := range l {
		if condition(&l[i]) {
			kept = append(kept, l[i])
		}
	}
	return kept
}

func (l List) any(condition func(b *Balancer) bool) bool {
	return slices.ContainsFunc(l, func(b Balancer) bool { return condition(&b) })
}

// all reports whether there are balancers, and a condition is true for each of them.
func (l List) all(condition func(b *Balancer) bool) bool {
	return len(l) > 0 && !l.any(func(b *Balancer) bool { return !condition(b) })
}

// Current returns the balancers that still ask.
func (l List) Current(now time.Time) List {
	return l.keep(func(b *Balancer) bool { return !b.gone(now) })
}

// Silent returns the balancers that asked within the last day and have stopped, SilentAfter ago or
// longer. A balancer whose address still asks for the same service is not among them.
func (l List) Silent(now time.Time) List {
	current := l.Current(now)
	return l.keep(func(b *Balancer) bool {
		since := now.Sub(b.Seen)
		if since < SilentAfter || since > silentFor {
			return false
		}
		if !b.Counts() || !b.gone(now) {
			return false
		}
		return !current.any(func(c *Balancer) bool { return c.Source == b.Source && c.Service == b.Service })
	})
}

// Asked returns when a balancer asked last; zero if none has. Balancers that are gone count too: HAProxy does not check
// a server in MAINT, and keeps its sessions, so agents may be at work long after the last check.
func (l List) Asked() (last time.Time) {
	for _, b := range l {
		if b.Counts() && b.Seen.After(last) {
			last = b.Seen
		}
	}
	return last
}

// Hearing returns the balancers that hear of a hold in that mode on a service: they ask for the service, and did not
// choose a code that hides the hold.
func (l List) Hearing(service drain.Service, mode drain.Mode) List {
	return l.keep(func(b *Balancer) bool {
		return service.Covers(b.Service) && !b.Hides(mode)
	})
}

// MayCount returns the clients that may prove to be balancers.
func (l List) MayCount() List { return l.keep((*Balancer).MayCount) }

// Sending returns the balancers that give new sessions to this master, as far as their views tell.
func (l List) Sending(now time.Time) List {
	return l.keep(func(b *Balancer) bool { return b.Sends(now) })
}

// Keeping returns the balancers with a view that were told last to use this master.
func (l List) Keeping() List {
	return l.keep(func(b *Balancer) bool { return b.SendsView() && !b.Refused() })
}

// Blind returns the balancers that follow every answer, since they do not say which servers they use.
func (l List) Blind() List {
	return l.keep(func(b *Balancer) bool { return !b.SendsView() && b.Counts() })
}

// Counting returns the balancers that say how many sessions this master has. A backend for turns has none, but another
// backend's servers may track its servers, and have no checks of their own.
func (l List) Counting() List {
	return l.keep(func(b *Balancer) bool { return b.View != nil && !b.Turns() })
}

// OnlyServer returns the balancers of which this master is the only server.
func (l List) OnlyServer(now time.Time) List {
	return l.keep(func(b *Balancer) bool { return b.OnlyServer(now) })
}

// AllOnlyServer reports whether there are balancers, and none but this master can serve their agents. What only takes
// turns has no agents.
func (l List) AllOnlyServer(now time.Time) bool {
	return l.WithAgents().all(func(b *Balancer) bool { return b.OnlyServer(now) })
}

// AllStranded reports whether there are balancers, and each of them sends its agents to this master because it has no
// other server, be it for a moment.
func (l List) AllStranded() bool {
	return l.WithAgents().all(func(b *Balancer) bool { return b.View != nil && b.View.Last() })
}

// Pool returns the balancers that show another server, expect one back, or have just started.
func (l List) Pool(now time.Time) List {
	return l.keep(func(b *Balancer) bool { return b.View != nil && !l.onlyTurns(b) && !b.OnlyServer(now) })
}

// Turns returns the backends for turns beside a backend of the same HAProxy that has agents: see TurnBackend.
func (l List) Turns() List { return l.keep(l.onlyTurns) }

// WithAgents returns the balancers that count, and do not only take turns.
func (l List) WithAgents() List {
	return l.keep(func(b *Balancer) bool { return b.Counts() && !l.onlyTurns(b) })
}

// onlyTurns reports whether a balancer in the list is a backend without agents, and a backend with agents of the same
// HAProxy sends a view. If no backend with agents does, the backend without agents speaks for them: their servers may
// track its servers, and have no checks of their own.
func (l List) onlyTurns(b *Balancer) bool {
	speaksForItself := func(o *Balancer) bool { return o.View != nil && !o.Turns() && o.sharesHAProxy(b) }
	return b.Turns() && l.any(speaksForItself)
}

// Without returns the balancers that are not among others.
func (l List) Without(others List) List {
	return l.keep(func(b *Balancer) bool {
		return !others.any(func(o *Balancer) bool { return o.key() == b.key() })
	})
}

// Trusted returns the balancers that the setting balancers lists. Any client can claim to be another balancer.
func (l List) Trusted() List {
	return l.keep(func(b *Balancer) bool { return b.Listed })
}

// Decide reports whether views decide alone about a service in a mode: a trusted balancer shows or expects other
// servers, and none follows blindly.
func (l List) Decide(service drain.Service, mode drain.Mode, now time.Time) bool {
	hearing := l.Hearing(service, mode)
	return len(hearing.Trusted().Pool(now)) > 0 && len(hearing.Blind()) == 0
}

// OnlyServerAt reports whether trusted balancers at an address all have this master alone: their agents can go nowhere
// else, so a stop does not wait for their connections.
func (l List) OnlyServerAt(source netip.Addr, now time.Time) bool {
	there := l.keep(func(b *Balancer) bool { return b.Source == source })
	return there.all(func(b *Balancer) bool { return b.Listed && b.OnlyServer(now) })
}

// Sources returns the addresses of the balancers that send their view, each once.
func (l List) Sources() (list []netip.Addr) {
	for _, b := range l {
		if b.View != nil && !slices.Contains(list, b.Source) {
			list = append(list, b.Source)
		}
	}
	return list
}

// inOrder orders balancers for people: by node, address and name.
func inOrder(x, y *Balancer) int {
	return cmp.Or(cmp.Compare(x.Node, y.Node), x.Source.Compare(y.Source), cmp.Compare(x.Name, y.Name))
}
