// Package rotation knows how a master leaves its pool and returns to it: what is
// still in the way, which server is the last one, and whose turn it is.
//
// Everything here is a pure function of a Status and of the connections that the
// kernel has, so every rule has a table test. The answer is a list of obstacles;
// an empty list means that the way is clear.
package rotation

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// Settle is how long a way must stay clear: agents pause between requests.
const Settle = time.Second

// forever is longer than any connection is idle: Jetty closes it after 30 s.
const forever = time.Hour

// Leaving returns what keeps a service from being idle since it has been held:
// balancers that may still send agents, and for the master itself the requests
// under way and the connections in use.
func Leaving(s api.Status, service string, connections []drain.Connection, since time.Time) []api.Obstacle {
	obstacles := sending(s, service, since)
	if service != monitor.Server {
		return obstacles // the connections are the master's
	}
	server, _ := s.Service(service)
	pool, counted := server.Pool()
	switch {
	case counted.IsZero(): // the master does not tell
	case counted.After(since):
		obstacles = append(obstacles, underWay(pool)...)
	case s.Probe.Reason == check.Refused: // a server that refuses connections has no requests
		return obstacles
	default:
		obstacles = append(obstacles, api.Obstacle{
			Kind: api.ObstacleUncounted,
			Text: "the JRubies have not been counted since",
		})
	}
	return append(obstacles, Connected(connections, s.Probe.Connections, idle(counted, s.Time))...)
}

// sending returns the balancers that may still send agents.
func sending(s api.Status, service string, since time.Time) (list []api.Obstacle) {
	v, _ := s.Service(service)
	for _, b := range s.Balancers {
		if b.Service != service || !b.Counts() || hidden(b, v.Mode) {
			continue
		}
		o := api.Obstacle{Concerns: b.Label()}
		switch {
		case !b.Seen.After(since):
			o.Kind, o.Text = api.ObstacleUnseen, unseen(b)
		case b.View != nil && b.View.Sends():
			o.Kind, o.Count = api.ObstacleSending, b.View.Sessions
			o.Text = fmt.Sprintf("%s still sends (%s)", b.Label(), viewText(b.View))
		case b.View == nil && b.Checks > b.Refusals() && b.Answers < b.Refusals():
			o.Kind, o.Count = api.ObstacleUntold, int(b.Answers)
			o.Text = fmt.Sprintf("%s was told %d of %d times%s", b.Label(), b.Answers, b.Refusals(), wayOut(b))
		default:
			continue
		}
		list = append(list, o)
	}
	return list
}

// unseen says that a balancer has not asked since, and what to do about one that
// never will.
func unseen(b api.Balancer) string {
	line := b.Label() + " has not asked since"
	if b.Interval > 0 {
		line += fmt.Sprintf(" (asks every %s)", text.Age(time.Duration(b.Interval*float64(time.Second))))
	}
	return line + wayOut(b)
}

// wayOut names the setting that tells balancers from other clients.
func wayOut(b api.Balancer) string {
	if b.View != nil || b.Listed {
		return ""
	}
	return "; if it is no balancer, set balancers in pmcheck.yaml"
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
		list = append(list, api.Obstacle{
			Kind:     api.ObstacleRequest,
			Concerns: loan.Request,
			Seconds:  loan.Seconds,
			Text:     fmt.Sprintf("%s for %.0f s", loan.Request, loan.Seconds),
		})
	}
	if n := len(p.Waiting); n > 0 {
		list = append(list, api.Obstacle{
			Kind:  api.ObstacleWaiting,
			Count: n,
			Text:  fmt.Sprintf("%d requests wait", n),
		})
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
	return max(drain.Reuse, now.Sub(counted)+Settle)
}

// Unattended is Leaving without a daemon. Balancers take a daemon that does not
// answer for a master that is out, so only the connections count.
func Unattended(connections []drain.Connection) []api.Obstacle {
	return Connected(connections, nil, forever)
}

// Connected returns the connections that may carry another request: not the
// daemon's own, and not those that have been silent for longer than idle.
func Connected(connections []drain.Connection, own []netip.AddrPort, idle time.Duration) []api.Obstacle {
	used := drain.InUse(connections, own, idle)
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

// viewText writes a balancer's view for a reader.
func viewText(v *api.View) string { return fmt.Sprintf("%s, %d sessions", v, v.Sessions) }
