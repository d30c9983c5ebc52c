package status

import (
	"net/netip"
	"slices"
	"time"
)

// gateTime is how old the last look of a gate that runs may be: it looks every second.
const gateTime = 5 * time.Second

// GateFile is the name of the file, in the gate's runtime directory, that contains its
// GateStatus.
const GateFile = "gate.json"

// GateStatus is what the gate says of itself: whether new connections to the master's
// port are refused.
type GateStatus struct {
	Closed bool      `json:"closed"`
	Since  time.Time `json:"since"`  // when Closed last changed
	Looked time.Time `json:"looked"` // when it last decided
	Reason string    `json:"reason"` // why it is closed or open
	Port   uint16    `json:"port"`
	// Passes are the networks whose connections it never refuses: loopback, this host's
	// own addresses, and gate.except.
	Passes []netip.Prefix `json:"passes"`
	// Refused counts the connection attempts that were refused since it closed.
	Refused uint64 `json:"refused"`
	Error   string `json:"error,omitempty"` // why it could not close or open
}

// Runs reports whether the gate has looked lately. The nil GateStatus does not run.
func (g *GateStatus) Runs(now time.Time) bool { return g != nil && now.Sub(g.Looked) < gateTime }

// Refuses reports whether new connections from an address are refused at now.
func (g *GateStatus) Refuses(from netip.Addr, now time.Time) bool {
	return g.Runs(now) && g.Closed && !from.IsLoopback() &&
		!slices.ContainsFunc(g.Passes, func(p netip.Prefix) bool { return p.Contains(from) })
}
