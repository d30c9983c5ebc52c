package status

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// HeardUsual is how long a daemon must have listened to have heard the usual balancers.
	HeardUsual = 15 * time.Second
	// HeardAll is how long it must have listened to have heard slow balancers, too.
	HeardAll = 2 * time.Minute
	// firstProbe is how long the first probe of a daemon is waited for. It takes less, unless probe.timeout is long.
	firstProbe = 15 * time.Second
	// agentRun is how long the run of an agent may take: Puppet's runtimeout.
	agentRun = time.Hour
	// ClearFor is how long the way must stay clear: agents pause between requests.
	ClearFor = time.Second
	// jettyHasClosed is longer than any connection is idle: Jetty closes it after 30 s.
	jettyHasClosed = time.Hour
	// usualTime is how long the usual balancer, which asks every 10 s, sends to a master that does not answer.
	usualTime = balancer.TellTimes * 10 * time.Second
)

// Untold returns the balancers that may still send agents to a service that is held. The daemon must have listened for
// them so long.
func (s Status) Untold(v ServiceStatus, mustListen time.Duration) []Blocker {
	if v.Mode == drain.Ready { // agents come again, however idle it is
		return blocker.Only(blocker.Answer, "the daemon does not act on the hold of /%s yet", v.Name)
	}
	return append(s.Unseen(mustListen), s.Behind(v)...)
}

// Returning returns what keeps a service that should be ready from being in service: its own answer, and
// balancers that do not send agents yet.
func (s Status) Returning(v ServiceStatus) (list []Blocker) {
	isHeld := v.Mode != drain.Ready
	if holders := s.Holders(v); isHeld && len(holders) > 0 {
		return blocker.Only(blocker.Answer, "/%s is held in %s by %s", v.Name, v.Mode, strings.Join(holders, ", "))
	}
	isOut := isHeld || !v.InService()
	if isOut {
		list = blocker.Only(blocker.Answer, "/%s is %s", v.Name, v.Answer.Body)
		return append(list, s.Behind(v)...)
	}

	if v.Name == drain.Master {
		list = s.gateShut()
	}
	list = append(list, s.Unseen(HeardUsual)...)
	return append(list, s.Behind(v)...)
}

// gateShut returns a blocker while the gate refuses the agents of a master that is ready.
func (s Status) gateShut() []Blocker {
	isShut := s.Gate.Runs(s.Time) && s.Gate.Closed
	if !isShut {
		return nil
	}
	return blocker.Only(blocker.Gate, "the gate is still closed: %s", s.Gate.Reason)
}

// Behind returns the balancers that do not do yet what the mode of a service asks.
func (s Status) Behind(v ServiceStatus) (list []Blocker) {
	for _, b := range s.Balancers {
		if !s.concerned(v, &b) {
			continue
		}
		why, lags := s.lag(v, &b)
		if !lags {
			continue
		}
		if b.View == nil && !b.Listed {
			why.Text += "; if it is not a balancer, set balancers in pmcheck.yaml"
		}
		list = append(list, why)
	}
	return list
}

// concerned reports whether a balancer has to do something about the mode of a service.
func (s Status) concerned(v ServiceStatus, b *Balancer) bool {
	if b.Service != v.Name {
		return false
	}
	if v.Mode == drain.Ready {
		return b.Counts()
	}

	// A client that may prove to be a balancer is waited for until it has been told, or is silent.
	if !b.Counts() && !b.MayCount() {
		return false
	}

	// A balancer that asks for the verdict only does not hear of the hold.
	if b.Hides(v.Mode) {
		return false
	}
	// The gate opens for a balancer that was told to keep the master.
	isGated := b.Service == drain.Master && s.Gate.Refuses(b.Source, s.Time)
	mayHaveKept := b.View != nil && !b.Refused()
	return !isGated || mayHaveKept
}

// lag returns what a balancer has not done yet, and false if it does what the mode of the service asks.
func (s Status) lag(v ServiceStatus, b *Balancer) (why Blocker, lags bool) {
	// While the hold is leaving, such a balancer is told to keep the master.
	if v.Departure.Leaving != drain.Firm && b.Unreadable {
		return b.UnreadableView(), true
	}

	// A balancer that has the master DOWN asks seldom, and must be told to use it before it sends.
	isHeld := v.Mode != drain.Ready
	if isHeld && b.HasDown() && !b.Sends(s.Time) {
		return why, false
	}
	if !b.Seen.After(v.ModeSince) {
		if every := b.AsksEvery(); every > 0 {
			return behind(b, "has not asked since the hold changed (asks every %s)", text.Age(every)), true
		}
		return behind(b, "has not asked since the hold changed"), true
	}

	// A balancer without a view needs several answers of a kind.
	if b.View == nil {
		if told := b.InARow(isHeld); told < balancer.TellTimes {
			return behind(b, "was told %d of %d times", told, balancer.TellTimes), true
		}
		return why, false
	}
	if isHeld {
		return s.stillSends(b)
	}

	isBack := b.View.Steps == 0 && b.View.Sends()
	if !isBack {
		return behind(b, "does not send yet (%s)", stands(b.View)), true
	}
	return why, false
}

// stillSends is lag for a balancer that has asked a held master, and sends its view.
func (s Status) stillSends(b *Balancer) (why Blocker, lags bool) {
	// A balancer that has the master out may be about to take it back, because the pool needs it: the last answer tells.
	if b.View.Sends() || !b.Refused() {
		return behind(b, "still sends (%s)", stands(b.View)), true
	}
	if b.Sends(s.Time) {
		return behind(b, "may still send: its checks come unevenly, as if two HAProxies had its name, "+
			"and one had the master UP %s ago", text.Age(s.Time.Sub(b.UpSeen))), true
	}
	return why, false
}

// stands says how the master stands with a balancer, by its view.
func stands(v *View) string {
	return fmt.Sprintf("%s, %s", v, count(v.Sessions, "session"))
}

func behind(b *Balancer, format string, args ...any) Blocker {
	why := blocker.New(blocker.Balancer, "%s %s", b.Label(), fmt.Sprintf(format, args...))
	why.Of = b.Label()
	return why
}

// Unseen returns what the daemon may not know yet: whether the master serves, or every balancer, if more ask than it
// remembers, or it has not listened as long as it must have.
func (s Status) Unseen(mustListen time.Duration) (list []Blocker) {
	probes := s.Started.Add(firstProbe)
	if !s.Master().Probed() && s.Time.Before(probes) {
		list = blocker.NotKnownUntil(probes, "the daemon has started, and has not probed the master yet")
	}
	if s.Time.Before(s.UnseenUntil) {
		list = append(list, balancer.TooMany())
	}

	age := s.Time.Sub(s.ListensSince)
	if age >= mustListen || s.hasHeardListed() {
		return list
	}
	young := blocker.NotKnownUntil(s.ListensSince.Add(mustListen),
		"the daemon has listened for %s, and may not have heard every balancer", text.Age(age))
	if s.BelievesAll() {
		young[0].Text += ": wait for " + text.Age(mustListen-age) + ", or set balancers in pmcheck.yaml"
	}
	return append(list, young...)
}

// hasHeardListed reports whether each address in the setting balancers has asked. Which addresses of a network ask is
// not known, and any client can claim to be a balancer that the setting does not list.
func (s Status) hasHeardListed() bool {
	for _, n := range s.Believed {
		asks := func(b Balancer) bool { return b.Source == n.Addr() }
		if !n.IsSingleIP() || !slices.ContainsFunc(s.Balancers, asks) {
			return false
		}
	}
	return len(s.Believed) > 0
}

// Unheard reports whether no balancer has asked this master for as long as agents run, as far as a daemon knows that
// has listened for slow ones, too, and believes all: the balancer that is in use may be missing in a list. Without a
// balancer that is told of a hold, no agent goes elsewhere, unless the gate sends it there.
func (s Status) Unheard(since time.Time) bool {
	// A gate that has not looked since the hold took effect may be about to close.
	isGated := s.Gate.Runs(s.Time) && (s.Gate.Closed || !s.Gate.Looked.After(since))
	if isGated {
		return false
	}

	knowsBalancers := s.BelievesAll() && s.Time.Sub(s.ListensSince) >= HeardAll
	return knowsBalancers && s.Time.Sub(s.BalancerAsked) >= agentRun
}

// Busy returns what keeps a service that is held from being idle: for the master itself the requests under way,
// the connections in use and a gate that is open. Other services have no connections of their own.
func (s Status) Busy(v ServiceStatus, connections []sockets.Connection) (list []Blocker) {
	if v.Name != drain.Master {
		return nil
	}
	list = s.gateOpen(v.ModeSince)

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
		list = append(list, blocker.Only(blocker.Unknown,
			"the JRubies have not been counted since the hold changed")...)
	}

	return append(list, s.inUse(connections, counted, v.Departure.Leaving)...)
}

// requests returns the requests that are under way, or wait.
func requests(pool *check.Pool) (list []Blocker) {
	for _, loan := range pool.Borrowed {
		list = append(list, blocker.New(blocker.Agent, "%s for %.0f s", loan.Request, loan.Seconds))
	}
	if n := len(pool.Waiting); n > 0 {
		list = append(list, blocker.Only(blocker.Agent, "%d requests wait", n)...)
	}
	return list
}

// inUse returns the connections that may carry another request. counted is when the JRubies were counted; zero if the
// master does not report them.
func (s Status) inUse(connections []sockets.Connection, counted time.Time, leaving drain.Leaving) []Blocker {
	var used []sockets.Connection
	for _, c := range connections {
		if s.mayCarryMore(c, counted) && !s.isStranded(c.Peer.Addr(), leaving) {
			used = append(used, c)
		}
	}
	if len(used) == 0 {
		return s.elsewhere(connections, leaving)
	}

	from := used[0].Peer.Addr().String()
	if len(used) == 1 {
		return blocker.Only(blocker.Agent, "1 connection in use, from %s", from)
	}
	return blocker.Only(blocker.Agent, "%d connections in use, one from %s", len(used), from)
}

// elsewhere returns what the kernel may not show of a master whose socket is not known to be on this host: its port may
// be published from a container, by DNAT, a forwarder, or both. A balancer with a view counts its sessions, those that
// are idle too; as many sessions as the kernel shows connections are judged by these.
func (s Status) elsewhere(connections []sockets.Connection, leaving drain.Leaving) (list []Blocker) {
	showsAll := s.Probe.Listener == monitor.TheUnit
	if showsAll || s.Probe.Reason == puppetclient.Refused {
		return nil
	}

	shown := 0
	for _, c := range connections {
		if !slices.Contains(s.Probe.Connections, c.Peer) {
			shown++
		}
	}

	sessions := 0
	counting := s.Balancers.Counting()
	for _, b := range counting {
		if n := b.View.Sessions; n > 0 && !s.isStranded(b.Source, leaving) {
			sessions += n
			list = append(list, blocker.New(blocker.Agent, "%s counts %s, and this host sees %s",
				b.Label(), count(n, "session"), count(shown, "connection")))
		}
	}
	if sessions > shown {
		return list
	}

	isHidden := s.Probe.Listener == monitor.Nobody
	if isHidden && (len(counting) == 0 || len(s.Balancers.Blind()) > 0) {
		return blocker.Only(blocker.Unknown, "agents may be at work: nothing listens at %s on this host, and not every "+
			"balancer says how many sessions it has (http-check send-state)", s.Probe.Address)
	}
	return nil
}

// count returns a number and a noun, such as "1 session".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// isStranded reports whether agents from an address can go nowhere else, and come until the hold is firm: a listed
// balancer there has this master alone. They are not waited for.
func (s Status) isStranded(from netip.Addr, leaving drain.Leaving) bool {
	return leaving != drain.Firm && s.Balancers.OnlyServerAt(from, s.Time)
}

// mayCarryMore reports whether a connection may carry another request of an agent.
func (s Status) mayCarryMore(c sockets.Connection, counted time.Time) bool {
	isOwn := slices.Contains(s.Probe.Connections, c.Peer)
	if isOwn {
		return false
	}

	if c.Idle > jettyHasClosed {
		return false
	}

	// An agent that the gate refuses cannot make another connection in the middle of its run. It uses this one until
	// the run is over, or Jetty closes the connection.
	if s.Gate.Refuses(c.Peer.Addr(), s.Time) {
		return true
	}

	// Without a count, a request may wait for its answer as long as the connection exists.
	if counted.IsZero() {
		return true
	}

	// The count does not include a request that came later.
	reuse := max(sockets.Reuse, s.Time.Sub(counted)+ClearFor)
	return c.Idle <= reuse
}

// gateOpen returns a blocker if the gate of a held master is open: agents that no balancer sends
// elsewhere still come.
func (s Status) gateOpen(since time.Time) []Blocker {
	if !s.Gate.Runs(s.Time) {
		return nil
	}
	if !s.Gate.Looked.After(since) {
		return blocker.Only(blocker.Gate, "the gate has not looked since the hold changed")
	}
	if s.Gate.Closed {
		return nil
	}
	return blocker.Only(blocker.Gate, "the gate is open: %s", cmp.Or(s.Gate.Error, s.Gate.Reason))
}

// Unattended returns what may still send agents to a held master whose daemon has not answered for lost.
func Unattended(lost time.Duration) []Blocker {
	left := usualTime - lost
	if left < 0 {
		return nil
	}
	return blocker.Only(blocker.Balancer, "no daemon answers, so balancers may still send for %s", text.Age(left))
}

// AtWork returns the agents that may be at work on a master whose daemon does not answer any more. s, its last status,
// may be zero: its JRubies are not counted. leaving is what the hold waits for.
func (s Status) AtWork(connections []sockets.Connection, leaving drain.Leaving) []Blocker {
	return s.inUse(connections, time.Time{}, leaving)
}

// ReturnBlockers returns what keeps a service from being used again and, when nothing does, the next master from
// leaving: the slot that this master still has. Of every service, only the master itself must be healthy. A service
// beside it that does not answer 200, and its balancers, are not waited for.
func (s Status) ReturnBlockers(service drain.Service) (list []Blocker) {
	for _, v := range s.Services {
		isAwaited := v.Name == service.Shown() || service.Covers(v.Name) && v.InService()
		if isAwaited {
			list = append(list, v.Departure.Return...)
		}
	}
	if len(list) == 0 && budget.Counts(service) {
		return s.slotKept()
	}
	return list
}

// ServesSince reports whether the master serves agents again, as a probe since a moment has shown. A verdict
// from before may be about the process that has stopped.
func (s Status) ServesSince(since time.Time) bool {
	return s.Master().Verdict.Health.Serves() && s.Probe.Asked.After(since)
}

// slotKept is the blocker of a slot that the daemon has not given back yet.
func (s Status) slotKept() []Blocker {
	if s.Budget == nil {
		return nil
	}
	// A database that does not answer keeps no master from being in service.
	if !s.Budget.Reachable {
		return blocker.NotKnownUntil(s.Time, "whether its slot is free: %s", s.Budget.Error)
	}

	isReturned := !s.Budget.HasSlot && s.Budget.Asked.After(s.Master().ModeSince)
	if isReturned {
		return nil
	}
	return blocker.Only(blocker.Budget, "its slot in the budget is free once it has been back for %s",
		text.Duration(budget.Settle))
}

// OverBudget returns the masters that keep this one from leaving because they use up the budget, as the daemon saw the
// budget last. The database decides.
func (s Status) OverBudget(service drain.Service) []Blocker {
	if s.Budget == nil || !budget.Counts(service) || s.Budget.HasSlot {
		return nil
	}
	if !s.Budget.Reachable {
		return blocker.Only(blocker.Unknown, "%s", s.Budget.Error)
	}
	if s.Budget.Out < s.Budget.Allowed {
		return nil
	}
	taken := budget.TakenError{Slots: s.Budget.Others(), Allowed: s.Budget.Allowed}
	return blocker.Only(blocker.Budget, "%s", taken.Error())
}
