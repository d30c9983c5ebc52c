// Package leave takes a master out of its pool and returns it: Out and Back. The daemon's answer to each
// check decides which balancer may lose the master, see balancer.Rule. Out writes the hold that the
// daemon acts on, and follows what comes of it.
//
// What is in the way is a list of obstacles, found by pure functions of a Status; an empty list means
// that the way is clear.
package leave

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

const (
	// hearWithin is how long after its start a daemon has heard every balancer that asks at all.
	hearWithin = time.Minute
	// youngFor is how long after its start a daemon may not have heard the usual balancers yet.
	youngFor = 15 * time.Second
	// agentRun is how long the run of an agent may take: Puppet's runtimeout.
	agentRun = time.Hour
	// settle is how long the way must stay clear: agents pause between requests.
	settle = time.Second
	// forever is longer than any connection is idle: Jetty closes it after 30 s.
	forever = time.Hour
	// usualFails is how long a balancer that asks every 10 s takes to notice that no daemon answers.
	usualFails = balancer.TellTimes * 10 * time.Second
)

// Standing returns the obstacles of a service in its current mode: while it is held, what keeps it from
// being idle, and while it is ready, from being in service.
func Standing(s status.Status, v status.ServiceStatus, connections []tcp.Connection) []status.Obstacle {
	if v.Mode == drain.Ready {
		return Returning(s, v.Name, v.ModeSince)
	}
	return append(Untold(s, v.Name, v.ModeSince), Busy(s, v.Name, connections, v.ModeSince)...)
}

// Untold returns the balancers that may still send agents to a service that has been held since a moment. A
// balancer that sends its view is told once that shows the master out and its last check was refused: a
// master may be out by its view, and be taken back because the pool needs it. A balancer without a view
// is told once it has been refused often enough.
//
// While the hold is leaving, a balancer that never had another server, as that of the only CA, is not
// waited for: it keeps the master until the hold is firm. A HAProxy that has just started may have others.
func Untold(s status.Status, service string, since time.Time) (list []status.Obstacle) {
	v, known := s.Service(service)
	if known && v.Mode == drain.Ready { // agents come again, however idle it is
		path := "/" + service
		return []status.Obstacle{balancer.NewObstacle(balancer.ObstacleNotHeld, path, "%s is not held", path)}
	}
	list = unheard(s)
	for _, b := range s.Balancers {
		alone := v.Leaving != drain.Firm && b.View != nil && b.View.Steps == 0 && !b.Pooled()
		if b.Service != service || !b.Counts() || b.Hides(v.Mode) || gated(s, b) || alone {
			continue
		}
		switch {
		case !b.Seen.After(since):
			list = append(list, unseen(b))
		case b.View == nil:
			list = append(list, untold(s, b, true)...)
		case b.View.Sends() || !refused(b):
			o := balancer.NewObstacle(balancer.ObstacleSending, b.Label(), "%s still sends (%s, %d sessions)",
				b.Label(), b.View, b.View.Sessions)
			o.Count = b.View.Sessions
			list = append(list, o)
		}
	}
	return list
}

// refused reports whether the last answer to a balancer was that it should not use the master.
func refused(b status.Balancer) bool { return b.Answer.Code >= 400 }

// untold is the obstacle of a balancer without a view: it takes the master out after several refusals in
// a row, and back after several other answers. A balancer that was never told anything else needs no
// more of them than it got, unless a daemon before may have told it.
func untold(s status.Status, b status.Balancer, out bool) []status.Obstacle {
	told, enough := b.Answers, b.Refusals()
	if s.Time.Sub(s.Started) >= hearWithin {
		enough = min(enough, b.Checks)
	}
	if out != refused(b) {
		told = 0
	}
	if told >= enough {
		return nil
	}
	o := balancer.NewObstacle(balancer.ObstacleUntold, b.Label(), "%s was told %d of %d times%s",
		b.Label(), told, enough, wayOut(b))
	o.Count = int(told)
	return []status.Obstacle{o}
}

// unseen says that a balancer has not asked since the hold changed, and what to do about a client that
// never will.
func unseen(b status.Balancer) status.Obstacle {
	line := b.Label() + " has not asked since the hold changed"
	if b.Interval > 0 {
		line += fmt.Sprintf(" (asks every %s)", text.Age(status.Seconds(b.Interval)))
	}
	return balancer.NewObstacle(balancer.ObstacleUnseen, b.Label(), "%s%s", line, wayOut(b))
}

// wayOut names the setting that tells balancers from other clients.
func wayOut(b status.Balancer) string {
	if b.View != nil || b.Listed {
		return ""
	}
	return "; if it is not a balancer, set balancers in pmcheck.yaml"
}

// heard reports whether a balancer asks this master.
func heard(s status.Status) bool {
	return slices.ContainsFunc(s.Balancers, func(b status.Balancer) bool { return b.Counts() })
}

// unheard is the obstacle of a daemon that has just started and has not heard any balancer: there may be
// some that still send. A restart leaves them to the new daemon, but a stop and a start do not.
func unheard(s status.Status) []status.Obstacle {
	age := s.Time.Sub(s.Started)
	if heard(s) || age >= youngFor {
		return nil
	}
	return []status.Obstacle{balancer.NewObstacle(balancer.ObstacleUnseen, "",
		"the daemon has run for %s, and no balancer has asked yet", text.Age(age))}
}

// Unheard reports whether no balancer has asked this master for as long as agents run, as far as a daemon
// can know that. Without a balancer that is told of a hold, no agent goes elsewhere, unless the gate
// sends it there. A gate that has not looked since the hold took effect may be about to close.
func Unheard(s status.Status, since time.Time) bool {
	gated := s.Gate.Runs(s.Time) && (s.Gate.Closed || !s.Gate.Looked.After(since))
	asked := heard(s) || s.Time.Sub(s.BalancerAsked) < agentRun
	return !gated && !asked && s.Time.Sub(s.Started) >= hearWithin
}

// Busy returns what keeps a service from being idle that has been held since a moment: for the master
// itself the requests under way, the connections in use and a gate that is open. Other services have no
// connections of their own.
func Busy(s status.Status, service string, connections []tcp.Connection, since time.Time) []status.Obstacle {
	if service != monitor.Server {
		return nil
	}
	list := gateOpen(s, since)
	server, _ := s.Service(monitor.Server)
	pool, counted := server.Pool()
	switch {
	case counted.IsZero(): // the master does not report its JRubies
	case counted.After(since):
		list = append(list, underWay(pool)...)
	case s.Probe.Reason == check.Refused: // a server that refuses connections has no requests
		return list
	default:
		list = append(list, balancer.NewObstacle(balancer.ObstacleUncounted, "",
			"the JRubies have not been counted since the hold changed"))
	}
	return append(list, inUse(s, connections, counted)...)
}

// underWay returns the requests that the pool has.
func underWay(p *check.Pool) (list []status.Obstacle) {
	for _, loan := range p.Borrowed {
		o := balancer.NewObstacle(balancer.ObstacleRequest, loan.Request, "%s for %.0f s", loan.Request, loan.Seconds)
		o.Seconds = loan.Seconds
		list = append(list, o)
	}
	if n := len(p.Waiting); n > 0 {
		o := balancer.NewObstacle(balancer.ObstacleWaiting, "", "%d requests wait", n)
		o.Count = n
		list = append(list, o)
	}
	return list
}

// inUse returns the connections that may carry another request. Behind a closed gate an agent in the
// middle of its run cannot make another connection, so each counts as in use until the agent closes it
// after its run, or Jetty does.
func inUse(s status.Status, connections []tcp.Connection, counted time.Time) []status.Obstacle {
	behindGate := slices.DeleteFunc(slices.Clone(connections), func(c tcp.Connection) bool {
		return !s.Gate.Refuses(c.Peer.Addr(), s.Time)
	})
	if list := connected(behindGate, s.Probe.Connections, forever); len(list) > 0 {
		return list
	}
	// The count of the JRubies does not include a later request. Without a count, a request may wait for
	// its answer as long as the connection exists.
	idle := forever
	if !counted.IsZero() {
		idle = max(tcp.Reuse, s.Time.Sub(counted)+settle)
	}
	return connected(connections, s.Probe.Connections, idle)
}

// connected returns the connections that may carry another request: all but the daemon's own, and those
// that have been silent for longer than idle.
func connected(connections []tcp.Connection, own []netip.AddrPort, idle time.Duration) []status.Obstacle {
	used := tcp.InUse(connections, own, idle)
	if len(used) == 0 {
		return nil
	}
	from := used[0].Peer.Addr().String()
	line := "1 connection in use, from " + from
	if len(used) > 1 {
		line = fmt.Sprintf("%d connections in use, one from %s", len(used), from)
	}
	return []status.Obstacle{{Kind: balancer.ObstacleConnection, Concerns: from, Count: len(used), Text: line}}
}

// gated reports whether the gate refuses what a balancer still sends. The gate never refuses the
// addresses of this host.
func gated(s status.Status, b status.Balancer) bool {
	return b.Service == monitor.Server && s.Gate.Refuses(b.Source, s.Time)
}

// gateOpen returns an obstacle if the gate of a held master is open: agents that no balancer sends
// elsewhere still come.
func gateOpen(s status.Status, since time.Time) []status.Obstacle {
	why := ""
	switch {
	case !s.Gate.Runs(s.Time) || s.Gate.Closed && s.Gate.Looked.After(since):
		return nil
	case !s.Gate.Looked.After(since):
		why = "the gate has not looked since the hold changed"
	case s.Gate.Error != "":
		why = "the gate cannot close: " + s.Gate.Error
	default:
		why = "the gate is open: " + s.Gate.Reason
	}
	return []status.Obstacle{balancer.NewObstacle(balancer.ObstacleGate, "", "%s", why)}
}

// Unattended returns what may still send agents to a held service, or be at work on it, for a daemon
// whose last status was s and that has not answered for lost. A balancer takes such a master out once as
// many checks have failed as it needs refusals. If no daemon has answered at all, s is zero, and any
// usual balancer may still send: the daemon may just have stopped, or it may answer balancers, but not
// on the socket of the caller.
func Unattended(s status.Status, service string, connections []tcp.Connection, lost time.Duration) []status.Obstacle {
	var list []status.Obstacle
	if len(s.Services) == 0 && lost <= usualFails {
		list = append(list, balancer.NewObstacle(balancer.ObstacleUntold, "",
			"no daemon answers, so balancers may still send for %s", text.Age(usualFails-lost)))
	}
	for _, b := range s.Balancers {
		v, _ := s.Service(b.Service)
		fails := status.Seconds(balancer.TellTimes * b.Interval)
		out := b.View != nil && !b.View.Sends()
		if service != "" && b.Service != service || !b.Counts() || b.Hides(v.Mode) || out || lost > fails {
			continue
		}
		list = append(list, balancer.NewObstacle(balancer.ObstacleUntold, b.Label(),
			"%s may not know yet that the daemon is gone (asks every %s)", b.Label(), text.Age(status.Seconds(b.Interval))))
	}
	return append(list, connected(connections, nil, forever)...)
}

// Returning returns what keeps a service from being in service again since its hold was lifted: its own
// answer, and balancers that do not send agents yet.
func Returning(s status.Status, service string, since time.Time) (list []status.Obstacle) {
	if v, known := s.Service(service); known && !v.Serves() {
		list = append(list, outOfService(s, v))
	} else if known {
		list = append(append(list, gateClosed(s, v)...), unheard(s)...)
	}
	for _, b := range s.Balancers {
		if b.Service != service || !b.Counts() {
			continue
		}
		switch {
		case !b.Seen.After(since):
			list = append(list, unseen(b))
		case b.View != nil && (!b.View.Sends() || b.View.Steps != 0):
			list = append(list, balancer.NewObstacle(balancer.ObstacleNotSending, b.Label(),
				"%s does not send yet (%s, %d sessions)", b.Label(), b.View, b.View.Sessions))
		case b.View == nil:
			list = append(list, untold(s, b, false)...)
		}
	}
	return list
}

// outOfService says why a service is not in service.
func outOfService(s status.Status, v status.ServiceStatus) status.Obstacle {
	path := "/" + v.Name
	if v.Mode == drain.Ready {
		return balancer.NewObstacle(balancer.ObstacleAnswer, path, "%s is %s", path, v.Answer.Body)
	}
	holders := strings.Join(s.Holders(v), ", ")
	return balancer.NewObstacle(balancer.ObstacleHeld, holders, "%s is held in %s by %s", path, v.Mode, holders)
}

// gateClosed returns an obstacle if the gate of a master that is ready is still closed.
func gateClosed(s status.Status, v status.ServiceStatus) []status.Obstacle {
	if v.Name != monitor.Server || v.Mode != drain.Ready || !s.Gate.Runs(s.Time) || !s.Gate.Closed {
		return nil
	}
	closed := balancer.NewObstacle(balancer.ObstacleGate, "", "the gate is still closed: %s", s.Gate.Reason)
	return []status.Obstacle{closed}
}

// InService returns what keeps a service from being used again and, when nothing does, the next master
// from leaving: the slot that this one still has. An empty service stands for every service, of which
// only the master itself must be healthy: another one that does not answer 200, and its balancers, are
// not waited for.
func InService(s status.Status, service string) (list []status.Obstacle) {
	for _, v := range s.Services {
		wanted := v.Name == service || service == "" && (v.Name == monitor.Server || v.Serves())
		if wanted {
			list = append(list, Returning(s, v.Name, v.ModeSince)...)
		}
	}
	if len(list) == 0 && Budgeted(service) {
		return slotKept(s)
	}
	return list
}

// Healthy reports whether the master serves agents again, as a probe since a moment has shown. A verdict
// from before may be about the process that has stopped.
func Healthy(s status.Status, since time.Time) bool {
	server, _ := s.Service(monitor.Server)
	return server.Verdict.Health.Serves() && s.Probe.Asked.After(since)
}

// LastServer returns the balancers that have no other server for a service now, as far as needs says that
// they matter. An empty service stands for every service. A balancer to which a hold would be no news is
// left out.
func LastServer(
	s status.Status, service string, mode drain.Mode, needs func(status.Balancer) bool,
) (list []status.Obstacle) {
	for _, b := range s.Balancers {
		v, known := s.Service(b.Service)
		if service != "" && b.Service != service || known && v.Mode != drain.Ready || !b.Last() || b.Hides(mode) {
			continue
		}
		if needs(b) {
			list = append(list, balancer.NewObstacle(balancer.ObstacleLast, b.Label(),
				"balancer %s has no other server for %s", b.Label(), b.Name))
		}
	}
	return list
}

// ServerMayLeave reports whether a hold of everything would leave a balancer without a server, but one of
// the service server would not, and a balancer asks for that or a gate runs. It is so on the host of the
// only CA.
func ServerMayLeave(s status.Status) bool {
	asked := s.Gate.Runs(s.Time) || slices.ContainsFunc(s.Balancers, func(b status.Balancer) bool {
		return b.Counts() && b.Service == monitor.Server
	})
	last := func(service string) bool {
		return len(LastServer(s, service, drain.Drain, func(status.Balancer) bool { return true })) > 0
	}
	return asked && last("") && !last(monitor.Server)
}
