// Package balancer records which balancers ask about the master, what each of them
// was answered, and what HAProxy reports about the master in return.
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
	// goneAfter is the shortest time without a check after which a balancer counts as
	// gone; a slow one is given three of its intervals.
	goneAfter = 10 * time.Second
	// unknownGoneAfter is the same for a client whose interval is not known: one that
	// asked once, as AWS asks every 10 or 30 s, and HAProxy after a refusal, as it asks
	// every downinter once it has the master DOWN.
	unknownGoneAfter = 100 * time.Second
	// slowest is the longest interval of a balancer that does not send its view. A
	// client that asks less often is assumed to be a monitoring check.
	slowest = time.Minute
	// quick is the longest interval at which a balancer needs TellTimes refusals. For a
	// slower one they could take minutes, so one refusal is enough. A balancer that asks
	// every 10 s, as AWS does by default, is measured a few milliseconds above or below that.
	quick = 11 * time.Second
	// ExpectedBack is how long a server that has left is expected back: a boot, or a start of
	// Puppet Server, takes minutes.
	ExpectedBack = 15 * time.Minute
)

// Balancer is one client that asks for a service.
type Balancer struct {
	Source  netip.Addr `json:"source"`
	Node    string     `json:"node,omitempty"` // HAProxy's own name
	Name    string     `json:"name,omitempty"` // HAProxy's name for the master, backend/server
	Service string     `json:"service"`
	Seen    time.Time  `json:"seen"`   // the last check
	Checks  int64      `json:"checks"` // since the first, or since it came back
	// DrainCode and MaintCode are the status codes that it chose for a held
	// master. A code below 400 hides the hold from it.
	DrainCode int `json:"drain_code"`
	MaintCode int `json:"maint_code"`
	// Interval is the time between its checks in seconds, smoothed; 0 after a
	// single one.
	Interval float64 `json:"interval_seconds"`
	// Answer is the last answer to it, and Answers how often in a row it got that code.
	Answer  Told  `json:"answer"`
	Answers int64 `json:"answers"`
	// View is nil for a balancer that does not send its view.
	View *View `json:"view,omitempty"`
	// Listed means that the setting balancers contains its network.
	Listed bool `json:"listed,omitempty"`
	// OthersWeight is the greatest total weight that the other servers had within ExpectedBack,
	// OthersSeen is when none of them was last missing, and UnitWeight is the greatest
	// weight of this master, which stands for the weight of any one server. Without a
	// view they are zero. OthersSeen is zero, too, if there was never another server beside
	// this one: a backup, which the balancer uses only in its place, is none.
	OthersWeight int       `json:"others_weight,omitempty"`
	OthersSeen   time.Time `json:"others,omitzero"`
	UnitWeight   int       `json:"unit_weight,omitempty"`
	// Elsewhere means that new sessions go to another server, although the view shows
	// none: the master was drained in the balancer itself.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// Counts reports whether the client is a balancer that a drain has to wait for. A
// client that sends its view or is listed is a balancer. Others
// count from their second check on, unless they are on this host or ask so rarely
// that they must be monitoring checks.
func (b *Balancer) Counts() bool {
	if b.View != nil || b.Listed {
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

// Others returns the weight of the other servers to which the balancer gives new
// sessions; 0 without a view.
func (b *Balancer) Others() int {
	switch {
	case b.View == nil:
		return 0
	case b.Elsewhere:
		return b.View.WeightTotal
	}
	return b.View.OthersWeight()
}

// Last reports whether the master is the only server to which the balancer gives
// new sessions, according to its view.
func (b *Balancer) Last() bool { return b.View != nil && b.View.Last() && !b.Elsewhere }

// Missing reports whether another server that the balancer had within ExpectedBack is out, and
// for how long.
func (b *Balancer) Missing(now time.Time) (missing bool, since time.Duration) {
	if b.View == nil || b.OthersSeen.IsZero() {
		return false, 0
	}
	since = now.Sub(b.OthersSeen)
	return since < ExpectedBack && b.Lost(b.OthersWeight), since
}

// Lost reports whether one of the other servers has gone missing since their total was
// weight: whether they have lost all of it, or at least half of what one server weighs.
// Half, because a server that returns gets its weight gradually, and because others may
// weigh less than this one.
func (b *Balancer) Lost(weight int) bool {
	others := b.Others()
	lost := weight - others
	return lost > 0 && (others == 0 || 2*lost >= b.UnitWeight)
}

// observe takes a new view into account. before is the previous one, and may be nil.
func (b *Balancer) observe(before, v *View, now time.Time) {
	b.UnitWeight = max(b.UnitWeight, v.Weight)
	switch {
	case before == nil || !v.Last() || !before.Last() || v.Sessions > before.Sessions:
		b.Elsewhere = false
	case v.otherSessions() > before.otherSessions():
		// HAProxy 2.6 reports "UP; weight=100/100" for one of two equal servers after
		// "set server … state drain", too. Only the sessions show the difference.
		b.Elsewhere = true
	}
	others := b.Others()
	switch known := !b.OthersSeen.IsZero(); {
	case others == 0:
		return
	case !known:
		// While this master is out, it may be the weight of backups: whether there are
		// others shows beside it.
		b.OthersWeight = max(b.OthersWeight, others)
		if v.Sends() {
			b.OthersSeen = now
		}
		return
	case others >= b.OthersWeight || now.Sub(b.OthersSeen) >= ExpectedBack:
		b.OthersWeight = others
	}
	if !b.Lost(b.OthersWeight) {
		b.OthersSeen = now
	}
}

// Question is a balancer's request.
type Question struct {
	Service   string
	DrainCode int
	MaintCode int
	View      string // the header StateHeader; empty if there was none
	Listed    bool   // the setting balancers contains the client's network
}

// Told is an answer as a balancer received it.
type Told struct {
	Code int    `json:"code"`
	Body string `json:"body"`
}

// Label returns the name of the balancer in messages.
func (b *Balancer) Label() string {
	if b.Node != "" {
		return b.Node
	}
	return b.Source.String()
}

// Asks returns what the balancer asks for: the path, with the codes that it chose in
// place of the usual ones.
func (b *Balancer) Asks() string {
	chosen := url.Values{}
	add := func(key string, code int) {
		if code != 0 && code != http.StatusServiceUnavailable {
			chosen.Set(key, strconv.Itoa(code))
		}
	}
	add("drain", b.DrainCode)
	add("maint", b.MaintCode)
	asked := url.URL{Path: "/" + b.Service, RawQuery: chosen.Encode()}
	if b.Service == monitor.Server {
		asked.Path = "/"
	}
	return asked.String()
}

// gone reports whether the balancer has stopped asking.
func (b *Balancer) gone(now time.Time) bool {
	silent := now.Sub(b.Seen)
	least := goneAfter
	if b.Checks < 2 || b.View != nil && b.Answer.Code >= http.StatusBadRequest {
		least = unknownGoneAfter
	}
	return silent > least && silent.Seconds() > 3*b.Interval
}
