// Package rotation knows how a master leaves its pool and returns to it: what is
// still in the way, which server is the last one, and whose turn it is.
//
// Everything here is a pure function of a Status and of the connections that the
// kernel has, so every rule has a table test. The answer is a list of obstacles;
// an empty list means that the way is clear.
package rotation

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// Settle is how long the way must stay clear: agents pause between requests.
const Settle = time.Second

// forever is longer than any connection is idle: Jetty closes it after 30 s.
const forever = time.Hour

// usualFails is how long a balancer that asks every 10 s takes to notice that no daemon
// answers.
const usualFails = balancer.TellTimes * 10 * time.Second

// Leaving returns what keeps a service from being idle since it has been held:
// balancers that may still send agents, and for the master itself the requests
// under way and the connections in use. A service whose hold has ended or was lifted
// meanwhile gets agents again, however idle it is.
func Leaving(s api.Status, service string, connections []tcp.Connection, since time.Time) []api.Obstacle {
	if v, known := s.Service(service); known && v.Mode == drain.Ready {
		path := "/" + service
		return []api.Obstacle{obstacle(api.ObstacleNotHeld, path, "%s is not held", path)}
	}
	obstacles := append(unheard(s), sending(s, service, since)...)
	if service != monitor.Server {
		return obstacles // the connections are the master's
	}
	obstacles = append(obstacles, gateOpen(s, since)...)
	server, _ := s.Service(service)
	pool, counted := server.Pool()
	switch {
	case counted.IsZero(): // the master does not report its JRubies
	case counted.After(since):
		obstacles = append(obstacles, underWay(pool)...)
	case s.Probe.Reason == check.Refused: // a server that refuses connections has no requests
		return obstacles
	default:
		obstacles = append(obstacles,
			obstacle(api.ObstacleUncounted, "", "the JRubies have not been counted since the hold changed"))
	}
	return append(obstacles, inUse(s, connections, counted)...)
}

// inUse returns the connections that may carry another request. Behind a closed gate an
// agent in the middle of its run cannot make another connection, so each counts as in use
// until the agent closes it after its run, or Jetty does.
func inUse(s api.Status, connections []tcp.Connection, counted time.Time) []api.Obstacle {
	refused := slices.DeleteFunc(slices.Clone(connections), func(c tcp.Connection) bool {
		return !s.Gate.Refuses(c.Peer.Addr(), s.Time)
	})
	if list := Connected(refused, s.Probe.Connections, forever); len(list) > 0 {
		return list
	}
	return Connected(connections, s.Probe.Connections, idle(counted, s.Time))
}

// sending returns the balancers that may still send agents.
func sending(s api.Status, service string, since time.Time) (list []api.Obstacle) {
	v, _ := s.Service(service)
	for _, b := range s.Balancers {
		if b.Service != service || !b.Counts() || hidden(b, v.Mode) || gated(s, b) {
			continue
		}
		switch {
		case !b.Seen.After(since):
			list = append(list, unseen(b))
		case b.View != nil && b.View.Sends():
			o := obstacle(api.ObstacleSending, b.Label(), "%s still sends (%s, %d sessions)", b.Label(), b.View, b.View.Sessions)
			o.Count = b.View.Sessions
			list = append(list, o)
		case b.View == nil:
			list = append(list, untold(s, b, true)...)
		}
	}
	return list
}

// untold is the obstacle of a balancer without a view: it takes the master out after several
// refusals in a row, and back after several other answers. A balancer that was never told
// anything else needs no more of them than it got, unless a daemon before may have told it.
func untold(s api.Status, b api.Balancer, refused bool) []api.Obstacle {
	told, enough := b.Answers, b.Refusals()
	if s.Time.Sub(s.Started) >= hearWithin {
		enough = min(enough, b.Checks)
	}
	if refused != (b.Answer.Code >= http.StatusBadRequest) {
		told = 0
	}
	if told >= enough {
		return nil
	}
	o := obstacle(api.ObstacleUntold, b.Label(), "%s was told %d of %d times%s", b.Label(), told, enough, wayOut(b))
	o.Count = int(told)
	return []api.Obstacle{o}
}

// unseen says that a balancer has not asked since the hold changed, and what to do about a
// client that never will.
func unseen(b api.Balancer) api.Obstacle {
	line := b.Label() + " has not asked since the hold changed"
	if b.Interval > 0 {
		line += fmt.Sprintf(" (asks every %s)", text.Age(api.Seconds(b.Interval)))
	}
	return obstacle(api.ObstacleUnseen, b.Label(), "%s%s", line, wayOut(b))
}

// wayOut names the setting that tells balancers from other clients.
func wayOut(b api.Balancer) string {
	if b.View != nil || b.Listed {
		return ""
	}
	return "; if it is not a balancer, set balancers in pmcheck.yaml"
}

// hidden reports whether a balancer chose a code that hides a hold from it. It
// asks for the verdict only, so a hold does not change its answer.
func hidden(b api.Balancer, mode drain.Mode) bool {
	switch mode {
	case drain.Drain:
		return b.DrainCode < 400
	case drain.Maint:
		return b.MaintCode < 400
	}
	return false
}

// underWay returns the requests that the pool has.
func underWay(p *check.Pool) (list []api.Obstacle) {
	for _, loan := range p.Borrowed {
		o := obstacle(api.ObstacleRequest, loan.Request, "%s for %.0f s", loan.Request, loan.Seconds)
		o.Seconds = loan.Seconds
		list = append(list, o)
	}
	if n := len(p.Waiting); n > 0 {
		o := obstacle(api.ObstacleWaiting, "", "%d requests wait", n)
		o.Count = n
		list = append(list, o)
	}
	return list
}

// idle returns for how long a connection may be silent and still have a request
// under way or to come. The count of the JRubies does not include a later request.
// Without a count, a request may wait for its answer as long as the connection
// exists.
func idle(counted, now time.Time) time.Duration {
	if counted.IsZero() {
		return forever
	}
	return max(tcp.Reuse, now.Sub(counted)+Settle)
}

// Unattended is Leaving for a daemon whose last status was s and that has not answered for
// lost. A balancer takes such a master out once as many checks have failed as it needs
// refusals. If no daemon has answered at all, s is zero, and any usual balancer may still
// send: the daemon may just have stopped, or it may answer balancers, but not on the socket
// of the caller.
func Unattended(s api.Status, service string, connections []tcp.Connection, lost time.Duration) []api.Obstacle {
	var list []api.Obstacle
	if len(s.Services) == 0 && lost <= usualFails {
		list = append(list, obstacle(api.ObstacleUntold, "", "no daemon answers, so balancers may still send for %s",
			text.Age(usualFails-lost)))
	}
	for _, b := range s.Balancers {
		v, _ := s.Service(b.Service)
		fails := api.Seconds(balancer.TellTimes * b.Interval)
		out := b.View != nil && !b.View.Sends()
		if service != "" && b.Service != service || !b.Counts() || hidden(b, v.Mode) || out || lost > fails {
			continue
		}
		list = append(list, obstacle(api.ObstacleUntold, b.Label(),
			"%s may not know yet that the daemon is gone (asks every %s)", b.Label(), text.Age(api.Seconds(b.Interval))))
	}
	return append(list, Connected(connections, nil, forever)...)
}

// Connected returns the connections that may carry another request: all but the daemon's
// own, and those that have been silent for longer than idle.
func Connected(connections []tcp.Connection, own []netip.AddrPort, idle time.Duration) []api.Obstacle {
	used := tcp.InUse(connections, own, idle)
	if len(used) == 0 {
		return nil
	}
	from := used[0].Peer.Addr().String()
	line := "1 connection in use, from " + from
	if len(used) > 1 {
		line = fmt.Sprintf("%d connections in use, one from %s", len(used), from)
	}
	return []api.Obstacle{{Kind: api.ObstacleConnection, Concerns: from, Count: len(used), Text: line}}
}

// obstacle returns an obstacle with its text.
func obstacle(kind api.ObstacleKind, concerns, format string, args ...any) api.Obstacle {
	return api.Obstacle{Kind: kind, Concerns: concerns, Text: fmt.Sprintf(format, args...)}
}
