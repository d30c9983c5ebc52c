// Package leave takes a master out of its pool and returns it: Out and Back. The steps of the way out are in out.go:
// admitted, its turn, held, let go, idle, firm. Whether a party leaves if the pool needs it is in party.go, and the
// three witnesses that are asked are in slot.go, fleet.go and views.go.
//
// The daemon's answer to each check decides which balancer may lose the master, see balancer.Rule. Out writes the hold
// that the daemon acts on, and follows what comes of it.
//
// What is in the way is a list of obstacles, found by pure functions of a Status in rules.go. An empty list means that
// the way is clear.
package leave

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// youngFor is how long after its start a daemon may not have heard the usual balancers yet.
	youngFor = 15 * time.Second
	// agentRun is how long the run of an agent may take: Puppet's runtimeout.
	agentRun = time.Hour
	// settle is how long the way must stay clear: agents pause between requests.
	settle = time.Second
	// forever is longer than any connection is idle: Jetty closes it after 30 s.
	forever = time.Hour
	// usualTime is how long the usual balancer, which asks every 10 s, sends to a master that does not answer.
	usualTime = balancer.TellTimes * 10 * time.Second
)

// Explain fills in what stands between each service of a status and what is wanted of it: Keeps and Obstacles. state is
// what the status was made of. connections returns the kernel's connections to the master's port.
func Explain(s *status.Status, state *monitor.State, maxOut config.MaxOut,
	connections func() ([]sockets.Connection, error)) {
	for i := range s.Services {
		v := &s.Services[i]
		isHeld := v.Mode != drain.Ready

		moment, _ := state.At(v.Name, s.Time)
		v.Keeps = balancer.NewRule(moment, state.Leaves(s.Time), maxOut).Keeps(s.Balancers, s.Budget != nil)
		if !isHeld {
			v.Keeps = append(v.Keeps, OverBudget(*s, v.Name)...)
		}

		var list []sockets.Connection
		var err error
		if v.Name == drain.Master && isHeld {
			list, err = connections()
		}
		v.Obstacles = Standing(*s, *v, list)
		if err != nil {
			v.Obstacles = append(v.Obstacles, unknown(err)...)
		}
	}
}

// Standing returns the obstacles of a service in its current mode: while it is held, what keeps it from
// being idle, and while it is ready, from being in service.
func Standing(s status.Status, v status.ServiceStatus, connections []sockets.Connection) []status.Obstacle {
	if v.Mode == drain.Ready {
		return Returning(s, v)
	}
	return append(Untold(s, v), Busy(s, v, connections)...)
}

// Untold returns the balancers that may still send agents to a service that is held.
func Untold(s status.Status, v status.ServiceStatus) []status.Obstacle {
	if v.Mode == drain.Ready { // agents come again, however idle it is
		return obstacle(balancer.ObstacleAnswer, "/%s is not held", v.Name)
	}
	return append(young(s), behind(s, v)...)
}

// Returning returns what keeps a service that should be ready from being in service: its own answer, and
// balancers that do not send agents yet.
func Returning(s status.Status, v status.ServiceStatus) (list []status.Obstacle) {
	if !v.Serves() {
		why := v.Answer.Body
		if holders := s.Holders(v); len(holders) > 0 {
			why = fmt.Sprintf("held in %s by %s", v.Mode, strings.Join(holders, ", "))
		}
		list = obstacle(balancer.ObstacleAnswer, "/%s is %s", v.Name, why)
		return append(list, behind(s, v)...)
	}

	isShut := s.Gate.Runs(s.Time) && s.Gate.Closed
	if v.Name == drain.Master && isShut {
		list = obstacle(balancer.ObstacleGate, "the gate is still closed: %s", s.Gate.Reason)
	}
	list = append(list, young(s)...)
	return append(list, behind(s, v)...)
}

// behind returns the balancers that do not do yet what the mode of a service asks.
func behind(s status.Status, v status.ServiceStatus) (list []status.Obstacle) {
	for _, b := range s.Balancers {
		if !concerned(s, v, &b) {
			continue
		}
		why := lag(&b, v)
		if why == "" {
			continue
		}
		if b.View == nil && !b.Listed {
			why += "; if it is not a balancer, set balancers in pmcheck.yaml"
		}
		list = append(list, balancer.NewObstacle(balancer.ObstacleBalancer, "%s %s", b.Label(), why))
	}
	return list
}

// concerned reports whether a balancer has to do something about the mode of a service.
func concerned(s status.Status, v status.ServiceStatus, b *status.Balancer) bool {
	if b.Service != v.Name || !b.Counts() {
		return false
	}
	if v.Mode == drain.Ready {
		return true
	}

	// A balancer that asks for the verdict only does not hear of the hold.
	if b.Hides(v.Mode) {
		return false
	}
	isGated := b.Service == drain.Master && s.Gate.Refuses(b.Source, s.Time)
	return !isGated
}

// lag returns what a balancer has not done yet; empty if it does what the mode of the service asks.
func lag(b *status.Balancer, v status.ServiceStatus) string {
	if !b.Seen.After(v.ModeSince) {
		why := "has not asked since the hold changed"
		if b.Interval > 0 {
			why += fmt.Sprintf(" (asks every %s)", text.Age(status.Seconds(b.Interval)))
		}
		return why
	}

	// A balancer without a view needs several answers of a kind.
	isHeld := v.Mode != drain.Ready
	if b.View == nil {
		if told := b.InARow(isHeld); told < balancer.TellTimes {
			return fmt.Sprintf("was told %d of %d times", told, balancer.TellTimes)
		}
		return ""
	}

	// A balancer that has the master out may be about to take it back, because the pool needs it: the last answer tells.
	if isHeld && (b.View.Sends() || !b.Refused()) {
		return fmt.Sprintf("still sends (%s, %d sessions)", b.View, b.View.Sessions)
	}

	isRising := b.View.Steps != 0
	if !isHeld && (isRising || !b.View.Sends()) {
		return fmt.Sprintf("does not send yet (%s, %d sessions)", b.View, b.View.Sessions)
	}
	return ""
}

// young is the obstacle of a daemon that has just started: balancers that it has not heard yet may still send. After a
// restart the new daemon knows its balancers, after a stop and a start it does not.
func young(s status.Status) []status.Obstacle {
	age := s.Time.Sub(s.Started)
	if age >= youngFor {
		return nil
	}

	// Any client can claim to be a balancer that the configuration does not name.
	isHeard := len(s.Balancers.Trusted()) > 0
	if isHeard {
		return nil
	}
	return obstacle(balancer.ObstacleBalancer, "the daemon has run for %s, and may not have heard every balancer",
		text.Age(age))
}

// Unheard reports whether no balancer has asked this master for as long as agents run. Without a balancer that is told
// of a hold, no agent goes elsewhere, unless the gate sends it there.
func Unheard(s status.Status, since time.Time) bool {
	// A gate that has not looked since the hold took effect may be about to close.
	isGated := s.Gate.Runs(s.Time) && (s.Gate.Closed || !s.Gate.Looked.After(since))
	if isGated {
		return false
	}

	knowsBalancers := s.Time.Sub(s.Started) >= youngFor
	return knowsBalancers && s.Time.Sub(s.BalancerAsked) >= agentRun
}

// Busy returns what keeps a service that is held from being idle: for the master itself the requests under way,
// the connections in use and a gate that is open. Other services have no connections of their own.
func Busy(s status.Status, v status.ServiceStatus, connections []sockets.Connection) (list []status.Obstacle) {
	if v.Name != drain.Master {
		return nil
	}
	list = gateOpen(s, v.ModeSince)

	pool, counted := v.Pool()
	isReported := !counted.IsZero()
	isCurrent := counted.After(v.ModeSince)
	if isCurrent {
		list = append(list, requests(pool)...)
	}
	if isReported && !isCurrent {
		// A server that refuses connections has no requests.
		if s.Probe.Reason == puppetclient.Refused {
			return list
		}
		list = append(list, obstacle(balancer.ObstacleUnknown,
			"the JRubies have not been counted since the hold changed")...)
	}

	return append(list, inUse(s, connections, counted)...)
}

// requests returns the requests that are under way, or wait.
func requests(pool *check.Pool) (list []status.Obstacle) {
	for _, loan := range pool.Borrowed {
		list = append(list, balancer.NewObstacle(balancer.ObstacleAgent, "%s for %.0f s", loan.Request, loan.Seconds))
	}
	if n := len(pool.Waiting); n > 0 {
		list = append(list, obstacle(balancer.ObstacleAgent, "%d requests wait", n)...)
	}
	return list
}

// inUse returns the connections that may carry another request. counted is when the JRubies were counted; zero if the
// master does not report them.
func inUse(s status.Status, connections []sockets.Connection, counted time.Time) []status.Obstacle {
	var used []sockets.Connection
	for _, c := range connections {
		if mayCarryMore(s, c, counted) {
			used = append(used, c)
		}
	}
	if len(used) == 0 {
		return nil
	}

	from := used[0].Peer.Addr().String()
	if len(used) == 1 {
		return obstacle(balancer.ObstacleAgent, "1 connection in use, from %s", from)
	}
	return obstacle(balancer.ObstacleAgent, "%d connections in use, one from %s", len(used), from)
}

// mayCarryMore reports whether a connection may carry another request of an agent.
func mayCarryMore(s status.Status, c sockets.Connection, counted time.Time) bool {
	isOwn := slices.Contains(s.Probe.Connections, c.Peer)
	if isOwn {
		return false
	}

	// Agents behind lone balancers that the configuration names can go nowhere else: they are not waited for.
	from := c.Peer.Addr()
	if s.Balancers.LoneAt(from, s.Time) {
		return false
	}

	if c.Idle > forever {
		return false
	}

	// An agent that the gate refuses cannot make another connection in the middle of its run. It uses this one until
	// the run is over, or Jetty closes the connection.
	if s.Gate.Refuses(from, s.Time) {
		return true
	}

	// Without a count, a request may wait for its answer as long as the connection exists.
	if counted.IsZero() {
		return true
	}

	// The count does not include a request that came later.
	reuse := max(sockets.Reuse, s.Time.Sub(counted)+settle)
	return c.Idle <= reuse
}

// gateOpen returns an obstacle if the gate of a held master is open: agents that no balancer sends
// elsewhere still come.
func gateOpen(s status.Status, since time.Time) []status.Obstacle {
	if !s.Gate.Runs(s.Time) {
		return nil
	}
	if !s.Gate.Looked.After(since) {
		return obstacle(balancer.ObstacleGate, "the gate has not looked since the hold changed")
	}
	if s.Gate.Closed {
		return nil
	}
	return obstacle(balancer.ObstacleGate, "the gate is open: %s", cmp.Or(s.Gate.Error, s.Gate.Reason))
}

// Unattended returns what may still send agents to a held master, or be at work on it, if its daemon has not
// answered for lost. The last status, s, may be zero.
func Unattended(s status.Status, connections []sockets.Connection, lost time.Duration) (list []status.Obstacle) {
	left := usualTime - lost
	if left >= 0 {
		list = obstacle(balancer.ObstacleBalancer, "no daemon answers, so balancers may still send for %s", text.Age(left))
	}
	return append(list, inUse(s, connections, time.Time{})...)
}

// InService returns what keeps a service from being used again and, when nothing does, the next master from leaving:
// the slot that this master still has. Of every service, only the master itself must be healthy. A service beside it
// that does not answer 200, and its balancers, are not waited for.
func InService(s status.Status, service drain.Service) (list []status.Obstacle) {
	for _, v := range s.Services {
		isAwaited := v.Name == service.Shown() || service.Covers(v.Name) && v.Serves()
		if isAwaited {
			list = append(list, Returning(s, v)...)
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
	return s.Master().Verdict.Health.Serves() && s.Probe.Asked.After(since)
}

// outAfter is how long a master that is not held must be out before it counts as out. A short fault, such
// as a reload, must not keep others from leaving.
const outAfter = time.Minute

// SlotStep is what the daemon does about the slot of its master in the budget.
type SlotStep string

// The steps.
const (
	SlotLook   SlotStep = "look"   // only see which masters are out
	SlotRenew  SlotStep = "renew"  // the master is out, or not yet back
	SlotReturn SlotStep = "return" // the master has been back for budget.Settle, and balancers send
)

// Slot returns what to do about the slot and, for a master that may not have one yet, why it is out.
func Slot(s status.Status) (step SlotStep, reason string) {
	for _, h := range s.Holds {
		if h.Covers(drain.Master) {
			reason = fmt.Sprintf("%s by %s: %s", h.Mode, h.Holder, h.Reason)
			return SlotRenew, strings.TrimSuffix(reason, ": ")
		}
	}

	master := s.Master()
	lasts := s.Time.Sub(master.ServingSince)
	hasSlot := s.Budget != nil && s.Budget.Held
	if hasSlot {
		isBack := lasts >= budget.Settle && len(Returning(s, master)) == 0
		if isBack {
			return SlotReturn, ""
		}
		return SlotRenew, ""
	}

	isDown := master.Mode == drain.Ready && !master.Serves() && lasts >= outAfter
	if isDown {
		return SlotRenew, master.Answer.Body
	}
	return SlotLook, ""
}

// slotKept is the obstacle of a slot that the daemon has not given back yet.
func slotKept(s status.Status) []status.Obstacle {
	// A database that does not answer keeps no master from being in service.
	if s.Budget == nil || !s.Budget.Reachable {
		return nil
	}

	isReturned := !s.Budget.Held && s.Budget.Asked.After(s.Master().ModeSince)
	if isReturned {
		return nil
	}
	return obstacle(balancer.ObstacleBudget, "its slot in the budget is free once it has been back for %s",
		text.Duration(budget.Settle))
}

// OverBudget returns the masters that keep this one from leaving because they use up the budget, as the daemon saw the
// budget last. The database decides.
func OverBudget(s status.Status, service drain.Service) []status.Obstacle {
	if s.Budget == nil || !Budgeted(service) || s.Budget.Held {
		return nil
	}
	if !s.Budget.Reachable {
		return obstacle(balancer.ObstacleBudget, "%s", s.Budget.Error)
	}
	if s.Budget.Out < s.Budget.Allowed {
		return nil
	}
	taken := budget.TakenError{Slots: s.Budget.Others(), Allowed: s.Budget.Allowed}
	return obstacle(balancer.ObstacleBudget, "%s", taken.Error())
}

// Budgeted reports whether a hold on a service needs a slot. The budget counts masters, so a hold on a service
// beside the master needs no slot.
func Budgeted(service drain.Service) bool { return service.Covers(drain.Master) }
