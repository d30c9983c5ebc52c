// Package api contains what programs can read from the daemon: the Status, which is the
// JSON of /status and of "pmcheck status --json", and the client that reads it. The
// section on the status in the manual describes these structs.
//
// Fields are only ever added.
package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// ErrNoService is wrapped by the error for a service that a daemon does not have.
var ErrNoService = errors.New("the daemon has no service")

// What a Status consists of. Readers of a Status need no other package.
type (
	// Answer is the answer to a balancer.
	Answer = answer.Answer
	// Balancer is a client that asks for a service.
	Balancer = balancer.Balancer
	// View is what a balancer reports about this master.
	View = balancer.View
)

// Status is everything the daemon knows.
type Status struct {
	Version  string          `json:"version"`  // of pmcheck
	Certname string          `json:"certname"` // of the master
	Time     time.Time       `json:"time"`     // when this was written
	Started  time.Time       `json:"started"`  // when the daemon started
	Revision uint64          `json:"revision"` // grows with each change; see Client.Next
	Services []ServiceStatus `json:"services"` // the first is the master itself
	Holds    []HoldStatus    `json:"holds"`
	// Balancers are the clients that ask, each with its view of this master.
	Balancers []Balancer `json:"balancers"`
	// BalancerAsked is when a balancer asked last, be it one that no longer asks; zero if
	// none ever has, as far as this daemon and those before it know. A restart of the
	// daemon keeps it, a stop does not.
	BalancerAsked time.Time    `json:"balancer_asked,omitzero"`
	Probe         ProbeStatus  `json:"probe"`
	Config        ConfigStatus `json:"config"`
	Warnings      []string     `json:"warnings,omitempty"`
	// Fleet are the masters of the pool, as the configuration names them.
	Fleet []string `json:"fleet,omitempty"`
	// Budget says which masters of the pool are out; nil without one.
	Budget *BudgetStatus `json:"budget,omitempty"`
	// Gate says whether new connections to the master's port are refused; nil while no
	// gate runs on this host.
	Gate *GateStatus `json:"gate,omitempty"`
	// Others is what the rest of Fleet said last; nil unless a gate runs, or did lately.
	Others *OthersStatus `json:"others,omitempty"`
}

// ServiceStatus is one service: what the operators want of it, what is true,
// and what balancers are told.
type ServiceStatus struct {
	Name      string        `json:"name"`
	Mode      drain.Mode    `json:"mode"`
	ModeSince time.Time     `json:"mode_since"` // as far as this daemon has seen
	Verdict   check.Verdict `json:"verdict"`
	Hint      string        `json:"hint,omitempty"` // what to do about the verdict
	Answer    Answer        `json:"answer"`         // to a balancer that chose no codes
	// ServingSince is when that answer changed to 200 or from 200, as far as this daemon
	// has seen.
	ServingSince time.Time     `json:"serving_since,omitzero"`
	Checks       []CheckStatus `json:"checks,omitempty"`
	Probes       int64         `json:"probes"` // since the daemon started
	// Obstacles keep a held service from being idle, or a ready one from being in
	// service. Without obstacles, it is.
	Obstacles []Obstacle `json:"obstacles,omitempty"`
	// LastServer are the balancers that have no other server, and what the budget of the
	// pool says: a drain is refused.
	LastServer []Obstacle `json:"last_server,omitempty"`
}

// CheckStatus is one check besides the probe.
type CheckStatus struct {
	check.Finding
	Hint string `json:"hint,omitempty"` // what to do if the state is not ok
}

// HoldStatus is one hold in effect.
type HoldStatus struct {
	drain.Hold
	Who string `json:"who"` // the person behind it, as far as it is known
}

// ProbeStatus is the last probe.
type ProbeStatus struct {
	Address  string              `json:"address"`
	Count    int64               `json:"count"` // probes since the daemon started
	Asked    time.Time           `json:"asked,omitzero"`
	Took     float64             `json:"took_seconds"`
	URL      string              `json:"url,omitempty"`
	API      check.API           `json:"api,omitempty"`
	HTTP     int                 `json:"http_status,omitempty"`
	TLS      *check.TLS          `json:"tls,omitempty"`
	Own      *check.Certificate  `json:"own_certificate,omitempty"`
	CAs      []check.Certificate `json:"cas,omitempty"`  // without those that others replace
	CRLs     []check.CRL         `json:"crls,omitempty"` // without those that others replace
	Fault    string              `json:"fault,omitempty"`
	Reason   check.Reason        `json:"reason,omitempty"`
	Interval float64             `json:"interval_seconds"`
	// Connections are the daemon's ends of its connections to the master.
	Connections []netip.AddrPort `json:"own_connections"`
}

// ConfigStatus is the configuration in use.
type ConfigStatus struct {
	File   string    `json:"file"`
	Loaded time.Time `json:"loaded"`
	Error  string    `json:"error,omitempty"` // why a newer one is not in use
	// Restart are the settings that have changed and take effect when the daemon starts.
	Restart []string `json:"restart,omitempty"`
}

// Service returns the status of one service, and whether there is one of that
// name.
func (s Status) Service(name string) (ServiceStatus, bool) {
	for _, v := range s.Services {
		if v.Name == name {
			return v, true
		}
	}
	return ServiceStatus{}, false
}

// Holders returns whose holds keep a service in its mode; none if that is ready.
func (s Status) Holders(v ServiceStatus) (names []string) {
	for _, h := range s.Holds {
		if h.Mode != drain.Ready && h.Mode == v.Mode && h.Covers(v.Name) {
			names = append(names, h.Holder)
		}
	}
	return names
}

// Serves reports whether balancers are told to use this master.
func (s Status) Serves() bool {
	server, _ := s.Service(monitor.Server)
	return server.Serves()
}

// Serves reports whether a balancer without codes of its own is told to use the service.
func (s ServiceStatus) Serves() bool { return s.Answer.Code == http.StatusOK }

// ServiceOrError is like Service, but returns an error if there is no such service. The
// error wraps ErrNoService and names the services of the daemon.
func (s Status) ServiceOrError(name string) (ServiceStatus, error) {
	v, known := s.Service(name)
	if known {
		return v, nil
	}
	var names []string
	for _, v := range s.Services {
		names = append(names, v.Name)
	}
	return v, fmt.Errorf("%w %q, only %s", ErrNoService, name, strings.Join(names, ", "))
}

// Only leaves one service in the status, or all of them if the name is empty. The error is
// that of ServiceOrError.
func (s *Status) Only(name string) error {
	if name == "" {
		return nil
	}
	v, err := s.ServiceOrError(name)
	s.Services = []ServiceStatus{v}
	return err
}

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

// FirstCRL returns the CRL that expires first, and whether there is one.
func (p ProbeStatus) FirstCRL() (first check.CRL, found bool) {
	if len(p.CRLs) == 0 {
		return first, false
	}
	return slices.MinFunc(p.CRLs, func(a, b check.CRL) int { return a.Expires.Compare(b.Expires) }), true
}

// ObstacleKind says what an Obstacle is.
type ObstacleKind string

// The kinds of obstacles. The value "slot" is that of a window, and has nothing to do with the slots of
// the budget.
const (
	ObstacleUnseen     ObstacleKind = "unseen"      // a balancer has not asked since the hold changed
	ObstacleSending    ObstacleKind = "sending"     // a balancer still sends agents
	ObstacleUntold     ObstacleKind = "untold"      // a balancer has not been told often enough
	ObstacleNotSending ObstacleKind = "not-sending" // a balancer does not send agents yet
	ObstacleRequest    ObstacleKind = "request"     // a request is under way
	ObstacleWaiting    ObstacleKind = "waiting"     // requests wait for a JRuby
	ObstacleUncounted  ObstacleKind = "uncounted"   // the JRubies have not been counted since the hold changed
	ObstacleConnection ObstacleKind = "connection"  // a connection may carry another request
	ObstacleUnknown    ObstacleKind = "unknown"     // the daemon or the kernel does not answer
	ObstacleAnswer     ObstacleKind = "answer"      // balancers are told something other than 200
	ObstacleHeld       ObstacleKind = "held"        // a holder holds the service
	ObstacleNotHeld    ObstacleKind = "not-held"    // no holder holds the service, and one should
	ObstacleLast       ObstacleKind = "last"        // a balancer has no other server
	ObstacleTurn       ObstacleKind = "turn"        // another server is expected back
	ObstacleBudget     ObstacleKind = "budget"      // as many masters are out as may be, or this one still has a slot
	ObstacleWindow     ObstacleKind = "slot"        // the window in which this master may leave has not begun
	ObstacleCollision  ObstacleKind = "collision"   // another server has left together with this one
	ObstacleGate       ObstacleKind = "gate"        // the gate is open and should not be, or closed
)

// Obstacle is one thing between a service and what its operators want: while it
// is held, to be idle; while it is ready, to be in service.
type Obstacle struct {
	Kind ObstacleKind `json:"kind"`
	// Concerns names the balancer, the request, the client or the holders.
	Concerns string `json:"concerns,omitempty"`
	// Count is a number of requests, connections or answers.
	Count int `json:"count,omitempty"`
	// Seconds is how long it has lasted.
	Seconds float64 `json:"seconds,omitempty"`
	// Text describes the obstacle on one line.
	Text string `json:"text"`
}

// Texts returns the texts of the first obstacles and, if there are more than most, how
// many more.
func Texts(obstacles []Obstacle, most int) (texts []string) {
	for _, o := range obstacles {
		texts = append(texts, o.Text)
	}
	return text.First(texts, most)
}

// Summary returns the texts of the first few obstacles on one line.
func Summary(obstacles []Obstacle) string { return strings.Join(Texts(obstacles, 4), "; ") }

// Seconds returns the duration that a Status has as a number of seconds.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
