// Package status contains what programs can read from the daemon: the Status, which is the JSON of /status and of
// "pmcheck status --json". New makes a Status of Facts. Each service has a Departure, in departure.go: what
// stands between it and what is wanted of it. The questions that a Departure is made of are in questions.go. The
// package leave asks some of them itself: a stop may wait for less than the status shows, and the daemon may not
// answer.
//
// The comment of a field is its meaning in packaging/doc/reference.md. From 1.0 on, fields are only added within a
// major version.
package status

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// ErrNoService is wrapped by the error for a service that a daemon does not have.
var ErrNoService = errors.New("the daemon has no service")

// What a Status consists of.
type (
	// Answer is the answer to a balancer.
	Answer = answer.Answer
	// Balancer is a client that asks for a service.
	Balancer = balancer.Balancer
	// View is what a balancer reports about this master.
	View = balancer.View
	// BudgetStatus is the budget of the pool as the daemon saw it last.
	BudgetStatus = budget.Status
	// Refused are the clients that were refused since the daemon started.
	Refused = front.Refused
	// Blocker is one thing between a master and what is wanted of it.
	Blocker = blocker.Blocker
)

// Status is everything the daemon knows.
type Status struct {
	Version  string    `json:"version"`  // of pmcheck
	Certname string    `json:"certname"` // of the master
	Time     time.Time `json:"time"`     // when this was written
	Started  time.Time `json:"started"`  // when the daemon started
	// ListensSince is since when balancers have been heard, by this daemon and by those before it whose memory it has.
	ListensSince time.Time       `json:"listens_since"`
	Services     []ServiceStatus `json:"services"` // the first is the master itself
	Holds        []drain.Hold    `json:"holds"`    // in effect
	// Hangs are the directories of holds whose file system does not answer. The holds are those that were read last.
	Hangs []drain.Hang `json:"hung_directories,omitempty"`
	// Balancers are the clients that ask, each with its view of this master.
	Balancers balancer.List `json:"balancers"`
	// BalancerAsked is when a balancer asked last, be it a balancer that no longer asks; zero if
	// none ever has, as far as this daemon and the daemons before it know. A restart of the
	// daemon keeps it, a stop does not.
	BalancerAsked time.Time `json:"balancer_asked,omitzero"`
	// UnseenUntil is when each balancer that still asks will have asked again since the last client was forgotten, or
	// found no room: more ask than the daemon remembers.
	UnseenUntil time.Time `json:"unseen_until,omitzero"`
	// Unlisted are the balancers that send their view of this master, and that the setting balancers does not list. No
	// departure waits for them; until a hold is firm, they are answered by their own views.
	Unlisted balancer.List `json:"unlisted_balancers,omitempty"`
	// Silent are the balancers that asked within the last day and have stopped.
	Silent balancer.List `json:"silent_balancers,omitempty"`
	// Believed are the networks whose clients count as balancers.
	Believed []netip.Prefix `json:"balancer_networks"`
	// Refused says which clients of the port for balancers were refused.
	Refused  Refused      `json:"refused"`
	Probe    ProbeStatus  `json:"probe"`              // the last probe of the master
	Config   ConfigStatus `json:"config"`             // the configuration in use
	Warnings []string     `json:"warnings,omitempty"` // what an operator should look at, a sentence each
	// Budget says which masters of the pool are out; absent without one.
	Budget *BudgetStatus `json:"budget,omitempty"`
	// Gate says whether new connections to the master's port are refused; absent while no
	// gate runs on this host.
	Gate *GateStatus `json:"gate,omitempty"`
	// Guarded says that the guard runs: it takes the master out before systemd stops Puppet Server.
	Guarded bool `json:"guarded"`
}

// ServiceStatus is one service: what the operators want of it, what is true,
// and what balancers are told.
type ServiceStatus struct {
	Name      drain.Service `json:"name"`       // its path, and its name in the Status API
	Mode      drain.Mode    `json:"mode"`       // what the operators want of it
	ModeSince time.Time     `json:"mode_since"` // when the mode last changed, as far as this daemon has seen
	Verdict   check.Verdict `json:"verdict"`    // what is true of it
	// Answer is the answer to a balancer that chose no codes. While the service is leaving, it is that of the balancers
	// which still keep it.
	Answer Answer `json:"answer"`
	// InServiceSince is when the service last began or ceased to be in service, as far as this daemon has seen. A hold
	// counts from when it is written.
	InServiceSince time.Time       `json:"in_service_since,omitzero"`
	Checks         []check.Finding `json:"checks,omitempty"` // all but the probe
	// Departure is how far the service is on its way out of its pool, and back.
	Departure Departure `json:"departure"`
}

// ProbeStatus is the last probe.
type ProbeStatus struct {
	Address string `json:"address"` // host:port where the master is probed
	// Listener says whose the socket of this host is that listens there: not known of a
	// master in a container.
	Listener monitor.Owner `json:"listener,omitempty"`
	Count    int64         `json:"count"`                 // probes since the daemon started
	Asked    time.Time     `json:"began,omitzero"`        // when it began
	Took     float64       `json:"duration_seconds"`      // until the answer was read, or the probe gave up
	URL      string        `json:"url,omitempty"`         // what was asked last
	HTTP     int           `json:"http_status,omitempty"` // the answer's
	Fault    string        `json:"fault,omitempty"`       // what is wrong, in words; empty when nothing is
	Reason   check.Reason  `json:"reason,omitempty"`      // of the fault
	// Expiries are the certificates and CRLs in use.
	Expiries   []check.Expiry `json:"expiries,omitempty"`
	ExpiryWarn float64        `json:"expiry_warn_seconds"` // the setting expiry.warn
	// Connections are the daemon's ends of its connections to the master.
	Connections []netip.AddrPort `json:"own_connections"`
}

// ConfigStatus is the configuration in use.
type ConfigStatus struct {
	File   string    `json:"file"`            // its path; empty without one
	Loaded time.Time `json:"loaded"`          // when it was read
	Error  string    `json:"error,omitempty"` // why a newer one is not in use
}

// Encode returns the JSON of a status, a value a line. What is in it is bounded, so that package client reads any.
func Encode(s Status) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // six bytes for one, and no browser takes JSON for HTML
	encoder.SetIndent("", "  ")
	err := encoder.Encode(s)
	return b.Bytes(), err
}

// Service returns the status of one service. If there is none of that name, the error wraps ErrNoService
// and names the services of the daemon.
func (s Status) Service(name drain.Service) (ServiceStatus, error) {
	var names []string
	for _, v := range s.Services {
		if v.Name == name {
			return v, nil
		}
		names = append(names, string(v.Name))
	}
	return ServiceStatus{}, fmt.Errorf("%w %q, only %s", ErrNoService, name, strings.Join(names, ", "))
}

// Master returns the status of the master itself. It is the zero ServiceStatus if no daemon has answered.
func (s Status) Master() ServiceStatus {
	master, _ := s.Service(drain.Master)
	return master
}

// ReadsHolds reports whether the daemon knows the holds that are on disk now.
func (s Status) ReadsHolds() bool {
	isDirectory := func(h drain.Hold) bool { return h.Holder == drain.Directory }
	return len(s.Hangs) == 0 && !slices.ContainsFunc(s.Holds, isDirectory)
}

// BelievesAll reports whether every client counts as a balancer: the setting balancers names none.
func (s Status) BelievesAll() bool {
	return slices.ContainsFunc(s.Believed, func(n netip.Prefix) bool { return n.Bits() == 0 })
}

// Holders returns whose holds keep a service in its mode; none if that is ready.
func (s Status) Holders(v ServiceStatus) (names []string) {
	for _, h := range s.Holds {
		keeps := h.Mode == v.Mode && h.Covers(v.Name)
		if v.Mode != drain.Ready && keeps {
			names = append(names, h.Holder)
		}
	}
	return names
}

// InService reports whether balancers are told to use this master.
func (s Status) InService() bool { return s.Master().InService() }

// State describes a service in a few words, and says whether a balancer asks for it.
func (s Status) State(name drain.Service) string {
	v, _ := s.Service(name)
	asks := func(b Balancer) bool { return b.Service == name && b.Counts() }
	if slices.ContainsFunc(s.Balancers, asks) {
		return v.State()
	}
	if len(s.Refused.Asking(s.Time)) > 0 {
		return v.State() + "; what asks is refused"
	}
	isOfService := func(b Balancer) bool { return b.Service == name }
	if slices.ContainsFunc(s.Unlisted, isOfService) {
		return v.State() + "; no listed balancer asks"
	}
	return v.State() + "; no balancer asks"
}

// State describes a service in a few words.
func (s ServiceStatus) State() string {
	isHeld := s.Mode != drain.Ready
	if isHeld && s.Departure.Leaving != drain.Firm {
		return "leaving: held in " + string(s.Mode)
	}
	if s.InService() {
		return "in service"
	}
	if isHeld {
		return "OUT of service: held in " + string(s.Mode)
	}

	if s.Verdict.Reason == check.UnitStopped || s.Verdict.Reason == check.UnitFailed {
		return "STOPPED: " + s.Verdict.Detail
	}
	return "OUT of service: " + s.Verdict.String()
}

// InService reports whether a balancer without codes of its own is told to use the service.
func (s ServiceStatus) InService() bool { return s.Answer.Code == http.StatusOK }

// Probed reports whether a probe has ended. Before that nothing is known of the service.
func (s ServiceStatus) Probed() bool { return s.Verdict.Reason != check.NotProbed }

// Unfit reports whether the service is known not to serve.
func (s ServiceStatus) Unfit() bool { return s.Probed() && !s.Verdict.Health.Serves() }

// Pool returns the last count of the JRuby pool and its time; nil and zero if the
// master does not report the pool.
func (v ServiceStatus) Pool() (*check.Pool, time.Time) {
	for _, c := range v.Checks {
		if c.Pool != nil {
			return c.Pool, c.Checked
		}
	}
	return nil, time.Time{}
}

// gateTime is how old the last look of a gate that runs may be: it looks every second.
const gateTime = 5 * time.Second

// GateFile is the name of the file, in the gate's runtime directory, that contains its
// GateStatus.
const GateFile = "gate.json"

// GateStatus is what the gate says of itself: whether new connections to the master's
// port are refused.
type GateStatus struct {
	Closed bool      `json:"closed"` // new connections are refused
	Since  time.Time `json:"since"`  // when it last closed or opened
	Looked time.Time `json:"looked"` // when it last decided
	Reason string    `json:"reason"` // why it is closed or open
	Port   uint16    `json:"port"`   // the master's, which it guards
	// Passes are the networks whose connections it never refuses: loopback, this host's
	// own addresses, and gate.except.
	Passes []netip.Prefix `json:"passes"`
	// Refused counts the connection attempts that were refused since it closed.
	Refused uint64 `json:"refused_connections"`
	Error   string `json:"error,omitempty"` // why it could not close or open
}

// Runs reports whether the gate has looked lately, and not in the future. The nil GateStatus does not run.
func (g *GateStatus) Runs(now time.Time) bool { return g != nil && now.Sub(g.Looked).Abs() < gateTime }

// Refuses reports whether new connections from an address are refused at now.
func (g *GateStatus) Refuses(from netip.Addr, now time.Time) bool {
	if !g.Runs(now) || !g.Closed || from.IsLoopback() {
		return false
	}
	return !slices.ContainsFunc(g.Passes, func(p netip.Prefix) bool { return p.Contains(from) })
}
