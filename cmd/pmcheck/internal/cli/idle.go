package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// idleSettle is how long it has to stay so: agents pause between requests.
	idleSettle = time.Second
	// toldEnough is how many refusals in a row take a master out of a balancer
	// that does not say what it makes of us: nobody's fall is above it by habit.
	toldEnough = 3
	// daemonPause is how long a restart of the daemon may take.
	daemonPause = 5 * time.Second
	// forever is longer than any connection is idle: Jetty ends it after 30 s.
	forever = time.Hour
)

// drained returns a look at what keeps a master from being idle since a hold
// came into effect: balancers that may send agents, connections in use,
// requests under way. Without a daemon, which balancers take for a master that
// is out, only the connections can be looked at.
func drained(client agent.Client, master, service string, since time.Time) func(context.Context) []string {
	var lost time.Time // since when the daemon has not answered
	return func(ctx context.Context) []string {
		status, err := client.Status(ctx)
		switch {
		case noDaemon(err) && lost.IsZero():
			lost = time.Now()
			fallthrough
		case noDaemon(err) && time.Since(lost) < daemonPause, err != nil && !noDaemon(err):
			return []string{err.Error()}
		case noDaemon(err):
			return connected(master, nil, forever)
		}
		lost, master = time.Time{}, status.Probe.Address // the daemon has read puppet.conf
		obstacles := sending(status, service, since)
		if service != "" && service != agent.Server {
			return obstacles // the master's connections are not this service's
		}
		requests, counted := underWay(status)
		if !counted.IsZero() && !counted.After(since) {
			if refused(ctx, master) {
				return obstacles // who is dead has no requests, and cannot say so
			}
			requests = []string{"the JRubies have not been counted since"}
		}
		obstacles = append(obstacles, requests...)
		return append(obstacles, connected(master, status.Probe.Connections, carries(counted, time.Now()))...)
	}
}

// sending names the balancers that may still send us agents.
func sending(status agent.Status, service string, since time.Time) []string {
	var list []string
	for _, b := range status.Balancers {
		switch {
		case service != "" && b.Service != service:
		case !b.Seen.After(since):
			list = append(list, fmt.Sprintf("%s has not asked since", b.Label()))
		case b.Answer.Code < 400: // it asks for health alone; of the mode it hears by agent-check, or not at all
		case b.View != nil && b.View.Sends():
			list = append(list, fmt.Sprintf("%s still sends (%s)", b.Label(), viewText(b.View)))
		case b.View == nil && b.Checks > toldEnough && b.Answers < toldEnough:
			list = append(list, fmt.Sprintf("%s was told %d times", b.Label(), b.Answers))
		}
	}
	return list
}

// underWay names the requests that the JRuby pool has, and returns when they were
// counted; zero if the pool is not known.
func underWay(status agent.Status) (list []string, counted time.Time) {
	server, _ := status.Service(agent.Server)
	for _, c := range server.Checks {
		if c.Check != check.CheckJRuby || c.Pool == nil {
			continue
		}
		for _, loan := range c.Pool.Borrowed {
			list = append(list, fmt.Sprintf("%s for %.0f s", loan.Request, loan.Seconds))
		}
		if n := len(c.Pool.Waiting); n > 0 {
			list = append(list, fmt.Sprintf("%d requests wait", n))
		}
		return list, c.Checked
	}
	return nil, time.Time{}
}

// refused reports whether nothing listens at an address.
func refused(ctx context.Context, address string) bool {
	fault := (&check.TCP{Address: address}).Probe(ctx).Fault
	return fault != nil && fault.Reason == check.Refused
}

// carries returns for how long a connection may be idle and still have a request
// under way or to come. A request that came after the JRubies were counted is not
// among those; where they are not counted at all, one may be waiting for its
// answer as long as there is the connection.
func carries(counted, now time.Time) time.Duration {
	if counted.IsZero() {
		return forever
	}
	return max(drain.Reuse, now.Sub(counted)+idleSettle)
}

// connected names the connections to the master that have not been idle for
// longer than that.
func connected(master string, own []netip.AddrPort, idle time.Duration) []string {
	_, port, err := net.SplitHostPort(master)
	if err != nil {
		return []string{err.Error()}
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return []string{err.Error()}
	}
	all, err := drain.Connections(uint16(number))
	if err != nil {
		return []string{err.Error()}
	}
	used := drain.InUse(all, own, idle)
	if len(used) == 0 {
		return nil
	}
	if len(used) == 1 {
		return []string{fmt.Sprintf("1 connection in use, from %s", used[0].Peer.Addr())}
	}
	return []string{fmt.Sprintf("%d connections in use, one from %s", len(used), used[0].Peer.Addr())}
}

// inService returns a look at what keeps a master from being used again.
func inService(client agent.Client, _, service string, since time.Time) func(context.Context) []string {
	return func(ctx context.Context) []string {
		status, err := client.Status(ctx)
		if err != nil {
			return []string{err.Error()}
		}
		var list []string
		for _, s := range status.Services {
			if (s.Name == service || service == "" && s.Name == agent.Server) && s.Answer.Code != 200 {
				list = append(list, outOfService(s, status.Holds))
			}
		}
		for _, b := range status.Balancers {
			switch {
			case service != "" && b.Service != service:
			case !b.Seen.After(since):
				list = append(list, fmt.Sprintf("%s has not asked since", b.Label()))
			case b.View != nil && (!b.View.Sends() || b.View.Steps != 0):
				list = append(list, fmt.Sprintf("%s does not send yet (%s)", b.Label(), viewText(b.View)))
			}
		}
		return list
	}
}

// outOfService says why a service is not in service.
func outOfService(s agent.ServiceStatus, holds []agent.HoldStatus) string {
	path := s.Answers[0].Path
	if s.Mode == drain.Ready {
		return fmt.Sprintf("%s is %s", path, s.Answer.Body)
	}
	var names []string
	for _, h := range holds {
		if h.Covers(s.Name) && h.Mode == s.Mode {
			names = append(names, h.Holder)
		}
	}
	return fmt.Sprintf("%s is held in %s by %s", path, s.Mode, strings.Join(names, ", "))
}

// viewText writes a balancer's view as HAProxy does.
func viewText(v *agent.View) string {
	text := v.State
	if v.Steps > 0 {
		text += fmt.Sprintf(" %d/%d", v.Step, v.Steps)
	}
	return fmt.Sprintf("%s, %d sessions", text, v.Sessions)
}
