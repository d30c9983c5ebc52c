// Package balancer remembers which balancers ask for the master, what each of
// them was told, and what HAProxy says of the master in return.
//
// A balancer can delay or refuse a drain; it can neither cause nor lift one.
// Everything here comes from the network, so all of it is bounded.
package balancer

import (
	"net/netip"
	"time"
)

// goneAfter is the least time without a check after which a balancer has gone;
// a slow one is given three of its intervals.
const goneAfter = 10 * time.Second

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
	// Others is when it last reported another server to which it sends agents;
	// zero if it never did.
	Others time.Time `json:"others,omitzero"`
}

// Question is what a balancer asked.
type Question struct {
	Service              string
	DrainCode, MaintCode int
	View                 string // the header StateHeader; empty if there was none
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

// gone reports whether the balancer has stopped asking.
func (b *Balancer) gone(now time.Time) bool {
	silent := now.Sub(b.Seen)
	return silent > goneAfter && silent.Seconds() > 3*b.Interval
}
