// Package balancer remembers which balancers ask for the master, what each of
// them was told, and what HAProxy says of the master in return.
//
// A balancer can delay or refuse a drain; it can neither cause nor lift one.
// Everything here comes from the network, so all of it is bounded.
package balancer

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
)

const (
	// goneAfter is the least time without a check after which a balancer has gone;
	// a slow one is given three of its intervals.
	goneAfter = 10 * time.Second
	// unknownGoneAfter is the same for a client that asked once, whose interval is
	// not known yet: AWS asks every 10 or 30 s.
	unknownGoneAfter = 100 * time.Second
	// slowest is the longest interval of a balancer that does not send its view. A
	// client that asks less often is taken for a monitoring check.
	slowest = time.Minute
	// quick is the interval below which a balancer needs TellTimes refusals. A
	// slower one would take minutes for them, so one counts.
	quick = 10 * time.Second
	// lately is how long the weight of the other servers is remembered: a host that
	// boots, or a Puppet Server that starts, takes minutes.
	lately = 15 * time.Minute
)

// AgentCheck is the Name under which the agent-checks of an address are kept.
const AgentCheck = "agent-check"

// Balancer is one client that asks for a service.
type Balancer struct {
	Source  netip.Addr `json:"source"`
	Node    string     `json:"node,omitempty"` // HAProxy's name of itself
	Name    string     `json:"name,omitempty"` // HAProxy's name of the master, backend/server; or AgentCheck
	Service string     `json:"service"`
	Seen    time.Time  `json:"seen"`   // the last check
	Checks  int64      `json:"checks"` // since the first
	// DrainCode and MaintCode are the status codes that it chose for a held
	// master. A code below 400 hides the hold from it.
	DrainCode int `json:"drain_code"`
	MaintCode int `json:"maint_code"`
	// Interval is the time between its checks in seconds, smoothed; 0 after a
	// single one.
	Interval float64 `json:"interval_seconds"`
	// Answer is what it was told last, and Answers how often in a row.
	Answer  Told  `json:"answer"`
	Answers int64 `json:"answers"`
	// View is nil for a balancer that does not send its view.
	View *View `json:"view,omitempty"`
	// Listed tells that the setting balancers names its network.
	Listed bool `json:"listed,omitempty"`
	// OthersWeight is the greatest weight of all other servers lately, in total,
	// OthersSeen when they last had it, and UnitWeight the greatest of this master:
	// what one server weighs. They stay 0 and zero without a view.
	OthersWeight int       `json:"others_weight,omitempty"`
	OthersSeen   time.Time `json:"others,omitzero"`
	UnitWeight   int       `json:"unit_weight,omitempty"`
}

// Counts reports whether the client is a balancer that a drain has to wait for.
// One that sends its view, makes agent-checks or is listed is a balancer. Others
// count from their second check on, unless they are on this host or ask so seldom
// that they only monitor.
func (b *Balancer) Counts() bool {
	if b.View != nil || b.Name == AgentCheck || b.Listed {
		return true
	}
	return b.Checks > 1 && !b.Source.IsLoopback() && b.Interval <= slowest.Seconds()
}

// Refusals returns how many refusals in a row take the master out of a balancer
// that does not send its view.
func (b *Balancer) Refusals() int64 {
	if b.Interval > quick.Seconds() {
		return 1
	}
	return TellTimes
}

// Missing reports whether another server is out that the balancer had lately, and
// for how long: the others have lost more than half of what one server weighs.
func (b *Balancer) Missing(now time.Time) (missing bool, since time.Duration) {
	if b.View == nil || b.OthersSeen.IsZero() {
		return false, 0
	}
	since = now.Sub(b.OthersSeen)
	lost := b.OthersWeight - b.View.OthersWeight()
	return since < lately && 2*lost > b.UnitWeight, since
}

// observe takes in a view.
func (b *Balancer) observe(v *View, now time.Time) {
	b.UnitWeight = max(b.UnitWeight, v.Weight)
	if others := v.OthersWeight(); others > 0 && (others >= b.OthersWeight || now.Sub(b.OthersSeen) >= lately) {
		b.OthersWeight, b.OthersSeen = others, now
	}
}

// Question is what a balancer asked.
type Question struct {
	Service              string
	DrainCode, MaintCode int
	View                 string // the header StateHeader; empty if there was none
	Listed               bool   // the setting balancers names the client's network
}

// Told is an answer as a balancer received it.
type Told struct {
	Code int    `json:"code"`
	Body string `json:"body"`
}

// Label names the balancer for a reader.
func (b *Balancer) Label() string {
	if b.Node != "" {
		return b.Node
	}
	return b.Source.String()
}

// Asks returns what the balancer asks for: the path, with the codes that it chose in
// place of 503.
func (b *Balancer) Asks() string {
	if b.Name == AgentCheck {
		return AgentCheck
	}
	chosen := url.Values{}
	for key, code := range map[string]int{"drain": b.DrainCode, "maint": b.MaintCode} {
		if code != 0 && code != http.StatusServiceUnavailable {
			chosen.Set(key, strconv.Itoa(code))
		}
	}
	asked := url.URL{Path: "/" + b.Service, RawQuery: chosen.Encode()}
	if b.Service == monitor.Server {
		asked.Path = "/"
	}
	return asked.String()
}

// gone reports whether the balancer has stopped asking.
func (b *Balancer) gone(now time.Time) bool {
	silent := now.Sub(b.Seen)
	if b.Checks < 2 {
		return silent > unknownGoneAfter
	}
	return silent > goneAfter && silent.Seconds() > 3*b.Interval
}
