package status

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/drain"
)

// Facts are what a Status is made of. A daemon passes what it watches, and a simulated pool
// what it simulates.
type Facts struct {
	Version string
	Started time.Time // of the daemon
	// ListensSince is since when balancers have been heard, by this daemon and by those before it whose memory it has.
	ListensSince time.Time
	State        *monitor.State
	Settings     *config.Config
	Config       ConfigStatus
	Warnings     []string

	// Balancers are all that are remembered.
	Balancers balancer.List
	Unseen    time.Time // until when a balancer may ask that is not
	Unlisted  balancer.List
	Refused   Refused
	Budget    *BudgetStatus // nil without a budget
	Gate      *GateStatus   // nil without a gate

	// Connections returns the kernel's connections to the master's port. Without it, no held master is known to be idle.
	Connections func() ([]sockets.Connection, error)
}

// New returns what the facts say at now. It asks for the connections only of a master that is held.
func New(of Facts, now time.Time) Status {
	state := of.State
	settings := of.Settings
	inUse := cmp.Or(state.Address, settings.Probe.Address)
	s := Status{
		Version:       of.Version,
		Certname:      settings.Probe.Certname,
		Time:          now,
		Started:       of.Started,
		ListensSince:  of.ListensSince,
		Holds:         append([]drain.Hold{}, state.Holds.At(now).Holds()...),
		Hangs:         state.Holds.Hangs(),
		Balancers:     of.Balancers.Current(now),
		BalancerAsked: of.Balancers.Asked(),
		UnseenUntil:   of.Unseen,
		Unlisted:      of.Unlisted.Current(now),
		Believed:      settings.Balancers,
		Refused:       of.Refused,
		Probe:         NewProbeStatus(inUse, state.Result),
		Config:        of.Config,
		Warnings:      of.Warnings,
		Budget:        of.Budget,
		Gate:          of.Gate,
		Guarded:       state.Guarded,
	}
	if len(settings.Balancers) == 0 {
		s.Believed = []netip.Prefix{
			netip.PrefixFrom(netip.IPv4Unspecified(), 0),
			netip.PrefixFrom(netip.IPv6Unspecified(), 0),
		}
	}

	// Balancers that an earlier daemon knew have had time to ask this one.
	if now.Sub(of.Started) > balancer.SilentAfter {
		s.Silent = of.Balancers.Silent(now)
	}
	s.Probe.Count = state.Master().Probes
	s.Probe.Connections = append([]netip.AddrPort{}, state.Own...) // a list in the JSON, though it be empty
	s.Probe.Listener = state.Listener
	s.Probe.ExpiryWarn = settings.Checks.Expiry().Warn.Seconds()

	for _, v := range state.Services {
		moment, _ := state.At(v.Name, now)
		service := newServiceStatus(moment, len(s.keeping(moment)) == 0)
		if v.Name == drain.Master {
			service.Checks = state.Findings
		}
		service.Departure = of.departure(&s, service, moment)
		s.Services = append(s.Services, service)
	}
	s.warn()
	s.Warnings = append(s.Warnings, Whose(settings.Probe.Address, inUse, state.Doubted)...)
	return s
}

// Whose returns a sentence if another program than the master's unit listens where the master is assumed, which is
// probed at inUse. doubted is set if what answers there is not the unit's either.
func Whose(assumed, inUse string, doubted bool) []string {
	line := fmt.Sprintf("set probe: {address: %q}", inUse)
	if inUse != assumed {
		return []string{fmt.Sprintf("the master's unit does not listen at %s but at %s, and is probed there; to make that "+
			"certain, %s", assumed, inUse, line)}
	}
	if doubted {
		return []string{fmt.Sprintf("another program than the master's unit listens at %s, and its answers count; if they "+
			"are the master's, %s", inUse, line)}
	}
	return nil
}

// keeping returns the balancers that have been told to go on using a master that is leaving.
func (s *Status) keeping(m answer.Moment) balancer.List {
	if m.Leaving == drain.Firm {
		return nil
	}
	return s.Balancers.Hearing(m.Service, m.Mode).Keeping()
}

// newServiceStatus returns the status of a service at a moment. mayLose says that no balancer keeps it.
func newServiceStatus(m answer.Moment, mayLose bool) ServiceStatus {
	return ServiceStatus{
		Name:           m.Service,
		Mode:           m.Mode,
		Departure:      Departure{Leaving: m.Leaving}, // Returning and Behind read it
		ModeSince:      m.ModeSince,
		Verdict:        m.Verdict,
		Answer:         answer.Decide(m, answer.Codes{}, mayLose),
		InServiceSince: m.InServiceSince,
	}
}

// warn adds sentences about what keeps balancers away and what is probably a mistake.
func (s *Status) warn() {
	list := text.First(s.away(), 5)
	list = append(list, text.First(s.unreadable(), 5)...)
	list = append(list, text.First(s.Balancers.TurnWarnings(s.Time), 5)...)

	for _, h := range s.Holds {
		if h.Service == drain.EveryService {
			continue
		}
		if _, err := s.Service(h.Service); err != nil {
			list = append(list, fmt.Sprintf("the hold of %s is on the unknown service %s: %s", h.Holder, h.Service, h.Path))
		}
	}

	for _, h := range s.Hangs {
		list = append(list, h.String())
	}
	if b := s.Budget; b != nil && !b.Reachable {
		list = append(list, b.Error+"; until it answers, drain and maint are refused")
	}
	if problem := s.Gate.problem(s.Time); problem != "" {
		list = append(list, problem)
	}
	s.Warnings = append(list, s.Warnings...)
}

// away returns a sentence for each balancer that is refused, or has ceased to ask.
func (s *Status) away() (list []string) {
	for _, r := range s.Refused.Balancers() {
		list = append(list, r.String())
	}
	for _, b := range s.Unlisted {
		list = append(list, fmt.Sprintf("balancer %s at %s sends its view of %s, and balancers in pmcheck.yaml does not "+
			"list it: no departure waits for it", b.HAProxy(), b.Source, b.Name))
	}
	for _, b := range s.Silent {
		since := b.Seen.Local().Format(time.DateTime)
		list = append(list, fmt.Sprintf("balancer %s has not asked since %s", b.Label(), since))
	}
	return list
}

// unreadable returns a sentence for each balancer whose view cannot be read.
func (s *Status) unreadable() (list []string) {
	for _, b := range s.Balancers {
		if b.Unreadable {
			list = append(list, b.UnreadableView().Text+" It keeps this master until a hold is firm")
		}
	}
	return list
}

// problem returns what is wrong with a gate; empty if nothing is, or no gate runs on this host.
func (g *GateStatus) problem(now time.Time) string {
	if g == nil {
		return ""
	}
	if !g.Runs(now) {
		return "the gate hangs: it has not looked at the holds since " + g.Looked.Local().Format(time.DateTime)
	}
	if g.Error != "" {
		return "the gate fails: " + g.Error
	}
	return ""
}

// NewProbeStatus returns the status of a probe with this result.
func NewProbeStatus(address string, r check.Result) ProbeStatus {
	p := ProbeStatus{
		Address:  address,
		Asked:    r.Asked,
		Took:     r.Took.Seconds(),
		URL:      r.URL,
		HTTP:     r.Status,
		Expiries: r.Expiries(),
	}

	if r.Fault != nil {
		p.Fault = r.Fault.Error()
		p.Reason = r.Fault.Reason
	}
	return p
}
