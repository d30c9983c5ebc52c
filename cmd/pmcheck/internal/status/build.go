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
		for _, any := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
			status.Believed = append(status.Believed, netip.PrefixFrom(any, 0))
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
	var away []string
	for _, r := range s.Refused.Balancers() {
		away = append(away, r.String())
	}
	for _, b := range s.Silent {
		since := b.Seen.Local().Format(time.DateTime)
		away = append(away, fmt.Sprintf("balancer %s has not asked since %s", b.Label(), since))
	}
	list := text.First(away, 5)
	list = append(list, text.First(s.Balancers.TurnWarnings(), 5)...)
	for _, h := range s.Holds {
		if _, err := s.Service(h.Service); h.Service != drain.EveryService && err != nil {
			list = append(list, fmt.Sprintf("the hold of %s is on the unknown service %s: %s", h.Holder, h.Service, h.Path))
		}
	}
	if b := s.Budget; b != nil && !b.Reachable {
		list = append(list, b.Error+"; until it answers, drain and maint are refused")
	}
	switch g := s.Gate; {
	case g == nil:
	case !g.Runs(s.Time):
		list = append(list, "the gate hangs: it has not looked at the holds since "+g.Looked.Local().Format(time.DateTime))
	case g.Error != "":
		list = append(list, "the gate fails: "+g.Error)
	}
	s.Warnings = append(list, s.Warnings...)
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
		p.Fault, p.Reason = r.Fault.Error(), r.Fault.Reason
	}
	return p
}
