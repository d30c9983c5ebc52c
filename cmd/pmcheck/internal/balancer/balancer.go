// Package balancer records which balancers ask about the master, what each of them
// was answered, and what HAProxy reports about the master in return. Of that, [Rule] decides
// which of them may lose a master that is leaving.
//
// A balancer can delay or refuse a drain; it can neither cause nor lift one.
// Everything here comes from the network, so all of it is bounded.
//
// Not every client counts for every question. The questions, each with the methods of [List] that answer it, or who
// else does:
//
//	may one more check keep the master?     the balancer that asks, by Rule
//	does its view matter to the others?     Rule.matters: not if it hides the hold; nor of an only server, but for turns
//	must it have let go of the master?      Hearing, and Counts or MayCount; not OnlyServer while the hold is leaving
//	does it forbid a command?               Hearing, WithAgents, OnlyServer, if it sends
//	are its agents left to this master?     AllOnlyServer; AllStranded, be it for a moment; not beside MayCount
//	does its view replace the fleet?        Decide: only if the setting balancers lists it
//	does it end the wait of a young daemon? the setting balancers has no address that has not asked
//	does it follow a hold blindly?          Hearing, Blind: the fleet is asked once more
//	does it show that others may serve?     Hearing, Pool
//	does it keep the gate open?             Hearing, Sending, and not OnlyServer while the hold is leaving
//	do its connections count?               not if OnlyServerAt its address, while the hold is leaving
//	are its sessions those of this master?  Counting, where the kernel does not show the connections
package balancer

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// slowest is the longest pause between the checks of a balancer that does not send its view. A client that
	// asks less often is assumed to be a monitoring check, or a person.
	slowest = time.Minute
	// steadyChecks is how many checks in a row, none later than slowest, make a client a balancer.
	steadyChecks = 5
	// SilentAfter is how long ago a balancer must have asked last to be shown as silent: longer than a restart of
	// HAProxy takes.
	SilentAfter = time.Minute
	// silentFor is how long ago it may have asked last: a balancer that was removed is forgotten.
	silentFor = 24 * time.Hour
	// ExpectedBack is how long a server that has left is expected back: a boot, or a start of
	// Puppet Server, takes minutes.
	ExpectedBack = 15 * time.Minute
	// slowstartStep is longer than HAProxy waits before it raises the weight of a returning server again: a twentieth
	// of slowstart, and at least a second.
	slowstartStep = time.Minute
	// TurnBackend is HAProxy's name for a backend without agents that sorts before every other of its node. A master
	// leaves the others only once it is out of this one, so that no two masters can leave at once.
	TurnBackend = "0-turn"
)

// Balancer is one client that asks for a service.
type Balancer struct {
	Source  netip.Addr    `json:"address"`        // its address
	Node    string        `json:"node,omitempty"` // HAProxy's own name
	Name    string        `json:"name,omitempty"` // HAProxy's name for the master, backend/server
	Service drain.Service `json:"service"`        // that it asks for
	Asks    string        `json:"request"`        // the path, and the codes that it chose
	Seen    time.Time     `json:"last_seen"`      // the last check
	Checks  int64         `json:"health_checks"`  // since the first, or since it came back
	// Codes are the status codes that it chose. A code below 400 hides the hold, or the verdict, from it.
	answer.Codes
	// Interval is the time between the balancer's checks, smoothed; 0 after a single check.
	Interval float64 `json:"interval_seconds"`
	// DownInterval is the same while the balancer has the master DOWN; 0 if it has not been seen to ask in that state.
	DownInterval float64 `json:"down_interval_seconds,omitempty"`

	Answer  answer.Answer `json:"answer"`       // the last answer to it
	Answers int64         `json:"same_answers"` // how often in a row it got that code
	// View is what it said of the master in its last check; absent if it does not send its view.
	View *View `json:"view,omitempty"`
	// Unreadable means that it sends a view which is malformed or too long. The view is absent then.
	Unreadable bool `json:"unreadable,omitempty"`
	// Listed means that the setting balancers contains its network.
	Listed bool `json:"listed,omitempty"`

	// OthersWeight is the greatest total weight that the other servers had within the last 15 minutes; 0 without a view.
	// A backup, which the balancer uses only in place of the master, does not count as another server.
	OthersWeight int `json:"others_weight,omitempty"`
	// OthersSeen is when none of the other servers was last missing; absent if there never was another.
	OthersSeen time.Time `json:"others_seen,omitzero"`
	// UnitWeight stands for the weight of any one server: it is the weight of this master, or the weight that was missing
	// first, if that is less; 0 without a view.
	UnitWeight int `json:"unit_weight,omitempty"`

	UpSeen time.Time `json:"up_seen,omitzero"` // when it last said that it has the master UP
	// Twins is when checks last showed that two HAProxies ask that have the same node, backend and address.
	Twins time.Time `json:"twins_seen,omitzero"`

	starts  bool // the view is of a HAProxy that has just started
	justOut bool // this check is the first with the master out
	fitted  bool // at the check before, it could do without this master
	letOff  bool // it was let off once: the next check is told of the hold

	pace    pace
	weighed time.Time // when OthersWeight or UnitWeight last changed
}

// Counts reports whether the client is a balancer that a drain has to wait for. A
// client that sends its view or is listed is a balancer. Others count from their fifth check
// on, if each followed the one before within a minute, unless they are on this host.
func (b *Balancer) Counts() bool {
	if b.SendsView() || b.Listed {
		return true
	}
	return b.Checks >= steadyChecks && !b.Source.IsLoopback()
}

// MayCount reports whether a client on another host is no balancer yet, and may prove to be one: it sends no view,
// and has asked again within a minute, but not often enough. A client that asks less often is taken for a monitoring
// check, see slowest.
func (b *Balancer) MayCount() bool {
	asksAgain := b.Checks > 1
	return asksAgain && !b.Counts() && !b.Source.IsLoopback()
}

// SendsView reports whether the balancer sends its view, readable or not.
func (b *Balancer) SendsView() bool { return b.View != nil || b.Unreadable }

// Refused reports whether the last answer to the balancer was that it should not use the master.
func (b *Balancer) Refused() bool { return b.Answer.Code >= http.StatusBadRequest }

// InARow returns how often in a row the balancer has been refused, or has been told to use the master.
func (b *Balancer) InARow(refused bool) int64 {
	if b.Refused() != refused {
		return 0
	}
	return b.Answers
}

// Others returns how many other servers the balancer had within ExpectedBack.
func (b *Balancer) Others() int { return b.servers(b.OthersWeight) }

// Missing returns how many of Others are out, at least one if the view shows no other server, and how long ago none
// was. After ExpectedBack they are given up, and none is missing.
func (b *Balancer) Missing(now time.Time) (servers int, since time.Duration) {
	if b.View == nil || !b.Pooled() {
		return 0, 0
	}

	since = now.Sub(b.OthersSeen)
	if since >= ExpectedBack {
		return 0, since
	}

	others := b.View.OthersWeight()
	if others == 0 {
		return max(1, b.Others()), since
	}
	return b.servers(b.OthersWeight - others), since
}

// OnlyServer reports whether this master is the only server of the balancer: it shows no other, is not in the middle
// of its start, and expects none back. So it is of a backend for the only CA, and of a pool whose other servers have
// been gone for ExpectedBack.
func (b *Balancer) OnlyServer(now time.Time) bool {
	if b.View == nil {
		return false
	}
	settled := b.View.Steps == 0
	missing, _ := b.Missing(now)
	return settled && b.View.OthersWeight() == 0 && missing == 0
}

// Backend returns HAProxy's name for the backend.
func (b *Balancer) Backend() string {
	backend, _, _ := strings.Cut(b.Name, "/")
	return backend
}

// Server returns HAProxy's name for the master in its backend.
func (b *Balancer) Server() string {
	_, server, _ := strings.Cut(b.Name, "/")
	return server
}

// Turns reports whether the balancer is a backend without agents, in which masters take turns.
func (b *Balancer) Turns() bool { return b.Backend() == TurnBackend }

// comparable reports whether Others is what the balancer has at the end of slowstart. Before that, a server that comes
// up for the first time has a fraction of its weight.
func (b *Balancer) comparable(now time.Time) bool { return now.Sub(b.weighed) >= slowstartStep }

// servers returns how many servers a weight stands for. Less than half the weight of a server is none: a server that
// returns gets its weight gradually, and others may weigh less than this one.
func (b *Balancer) servers(weight int) int {
	unit := max(1, b.UnitWeight)
	return max(0, weight+unit/2) / unit
}

// observe takes a new view into account. before is the previous one, and may be nil. wasUp reports whether the balancer
// has had the master UP until now.
func (b *Balancer) observe(before, v *View, wasUp bool, now time.Time) {
	b.justOut = !v.Sends() && before != nil && before.Sends()

	b.starts = b.justStarted(v, wasUp)
	unitWeight := b.UnitWeight
	othersWeight := b.OthersWeight
	b.weigh(before, v)
	if others := v.OthersWeight(); others > 0 && !b.starts {
		b.meet(others, v, now)
	}
	if b.UnitWeight != unitWeight || b.OthersWeight != othersWeight {
		b.weighed = now
	}
}

// lightest is the smallest part of this master's weight that another server is believed to have. A smaller part is a
// weight that is changing.
const lightest = 8

// weigh takes into account how much one server weighs. While a server comes back, it has only a part
// of its weight.
func (b *Balancer) weigh(before, v *View) {
	own := v.Weight
	unknown := b.UnitWeight == 0
	if !unknown && (own == 0 || v.throttled) {
		own = b.UnitWeight
	}

	others := v.OthersWeight()
	if unknown || others >= b.OthersWeight {
		b.UnitWeight = own
		return
	}

	b.UnitWeight = min(b.UnitWeight, own)
	left := b.OthersWeight - others
	isFirst := before != nil && before.OthersWeight() >= b.OthersWeight
	if isFirst && left*lightest >= own {
		b.UnitWeight = min(b.UnitWeight, left)
	}
}

// justStarted reports whether the view is of a HAProxy that has just started and has not checked the other servers yet.
// It then has this server UP, with steps to count. So has a HAProxy whose server was refused lately.
func (b *Balancer) justStarted(v *View, wasUp bool) bool {
	settled := v.Steps == 0
	if !v.Sends() || settled {
		return false
	}

	// A server that comes up has all its steps at once, so UP with steps to count after DOWN is a new process.
	if !wasUp || b.starts {
		return true
	}
	return !b.Refused() // a server that was not refused did not lose its steps
}

// meet takes into account that the balancer has other servers, of so much weight.
func (b *Balancer) meet(others int, v *View, now time.Time) {
	if !b.Pooled() {
		b.OthersWeight = max(b.OthersWeight, others)
		// While this master is out, it may be the weight of backups: whether there are
		// others shows beside it. While one of the two comes back slowly, the total may be
		// the weight of the main server alone, and this master its backup: 100/7, or 7/100.
		beside := v.Sends() && v.WeightTotal >= v.Weight && !v.throttled
		if beside {
			b.OthersSeen = now
		}
		return
	}

	forgotten := now.Sub(b.OthersSeen) >= ExpectedBack
	if others >= b.OthersWeight || forgotten {
		b.OthersWeight = others
	}
	if missing, _ := b.Missing(now); missing == 0 {
		b.OthersSeen = now
	}
}

// Check is a balancer's request.
type Check struct {
	Source  netip.Addr
	Service drain.Service
	URI     string // what it asked for
	Codes   answer.Codes
	Header  string // the StateHeader; empty if there was none
	Listed  bool   // the setting balancers contains the client's network
}

// Label returns the name of the balancer in messages: lb1/puppet is the backend puppet of the HAProxy lb1, and a
// balancer without a view has only its address.
func (b *Balancer) Label() string {
	if backend := b.Backend(); backend != "" {
		return b.HAProxy() + "/" + backend
	}
	return b.HAProxy()
}

// HAProxy returns the name of the HAProxy that the balancer's backend belongs to, or else the balancer's address.
func (b *Balancer) HAProxy() string {
	if b.Node != "" {
		return b.Node
	}
	return b.Source.String()
}
