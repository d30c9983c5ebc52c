package status

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// New returns what a state of the monitor and the settings say at now.
func New(s *monitor.State, c *config.Config, now time.Time) Status {
	status := Status{
		Certname:  c.Probe.Certname,
		Time:      now,
		Holds:     append([]drain.Hold{}, s.Holds.At(now).Holds()...),
		Balancers: balancer.List{},
		Believed:  c.Balancers,
		Probe:     NewProbeStatus(c.Probe.Address, s.Result),
	}
	if len(c.Balancers) == 0 {
		status.Believed = []netip.Prefix{
			netip.PrefixFrom(netip.IPv4Unspecified(), 0),
			netip.PrefixFrom(netip.IPv6Unspecified(), 0),
		}
	}
	status.Probe.Count = s.Master().Probes
	status.Probe.Connections = s.Own
	status.Probe.ExpiryWarn = c.Checks.Expiry().Warn.Seconds()

	for _, v := range s.Services {
		moment, _ := s.At(v.Name, now)
		service := newServiceStatus(moment)
		if v.Name == drain.Master {
			service.Checks = s.Findings
		}
		status.Services = append(status.Services, service)
	}
	return status
}

func newServiceStatus(m monitor.Moment) ServiceStatus {
	return ServiceStatus{
		Name:         m.Service,
		Mode:         m.Mode,
		Leaving:      m.Leaving,
		ModeSince:    m.ModeSince,
		Verdict:      m.Verdict,
		Answer:       answer.Decide(m, answer.Codes{}, true),
		ServingSince: m.ServingSince,
	}
}

// Warn adds sentences about what keeps balancers away and what is probably a mistake.
func (s *Status) Warn() {
	list := text.First(s.away(), 5)
	list = append(list, text.First(s.Balancers.TurnWarnings(), 5)...)

	for _, h := range s.Holds {
		if h.Service == drain.EveryService {
			continue
		}
		if _, err := s.Service(h.Service); err != nil {
			list = append(list, fmt.Sprintf("the hold of %s is on the unknown service %s: %s", h.Holder, h.Service, h.Path))
		}
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
	for _, b := range s.Silent {
		since := b.Seen.Local().Format(time.DateTime)
		list = append(list, fmt.Sprintf("balancer %s has not asked since %s", b.Label(), since))
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
