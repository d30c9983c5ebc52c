package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
)

// Source is what a Status is built from.
type Source struct {
	Version   string
	Started   time.Time
	Revision  uint64
	Settings  *config.Config
	Config    ConfigStatus
	State     *monitor.State
	Balancers []Balancer
	Asked     time.Time // when one of them, or one that is gone, asked last
	Budget    *BudgetStatus
	Gate      *GateStatus
}

// Build returns the status at now, without its obstacles.
func (src Source) Build(now time.Time) Status {
	s := src.State
	status := Status{
		Version:       src.Version,
		Certname:      src.Settings.Probe.Certname,
		Time:          now,
		Started:       src.Started,
		Revision:      src.Revision,
		Holds:         []HoldStatus{},
		Balancers:     src.Balancers,
		BalancerAsked: src.Asked,
		Probe:         NewProbeStatus(src.Settings.Probe.Address, s.Result),
		Config:        src.Config,
		Fleet:         src.Settings.Fleet,
		Budget:        src.Budget,
		Gate:          src.Gate,
	}
	status.Probe.Count, status.Probe.Connections = s.Probes, s.Own
	status.Probe.Interval = src.Settings.Probe.Interval.Seconds()
	for i := range s.Services {
		status.Services = append(status.Services, newServiceStatus(s, &s.Services[i], now))
	}
	status.Services[0].Checks = NewCheckStatuses(s.Findings) // they concern the master itself
	for _, h := range s.Holds.At(now).Holds() {
		status.Holds = append(status.Holds, HoldStatus{Hold: h, Who: h.Who()})
	}
	status.Warnings = src.warnings(status)
	return status
}

func newServiceStatus(s *monitor.State, v *monitor.Service, now time.Time) ServiceStatus {
	mode, _ := s.Mode(v.Name, now)
	verdict := v.Verdict.At(now)
	_, since := s.Serving(v, now)
	return ServiceStatus{
		Name:         v.Name,
		Mode:         mode,
		Leaving:      s.Leaving(v.Name, now),
		ModeSince:    v.ModeSince,
		Verdict:      verdict,
		Hint:         verdict.Reason.Hint(),
		Answer:       answer.Decide(mode, verdict, answer.Codes{}, true),
		ServingSince: since,
		Probes:       v.Probes,
	}
}

// warnings returns sentences about what is probably a mistake.
func (src Source) warnings(status Status) (list []string) {
	if restart := src.Config.Restart; len(restart) > 0 {
		list = append(list, "changed since the daemon was started, in effect after a restart of pmcheck: "+
			strings.Join(restart, ", "))
	}
	for _, h := range status.Holds {
		if _, known := src.State.Service(h.Service); h.Service != "" && !known {
			list = append(list, fmt.Sprintf("the hold of %s is on the unknown service %s: %s",
				h.Holder, h.Service, h.Path))
		}
	}
	list = append(list, src.Budget.warnings()...)
	list = append(list, src.Gate.warnings(status.Time)...)
	if w := src.State.Warning(); w != "" {
		list = append(list, w)
	}
	if late := src.State.HoldsLate; late != nil {
		list = append(list, "holds are noticed late: "+late.Error())
	}
	return list
}

// NewProbeStatus returns the status of a probe with this result.
func NewProbeStatus(address string, r check.Result) ProbeStatus {
	p := ProbeStatus{
		Address: address,
		Asked:   r.Asked,
		Took:    r.Took.Seconds(),
		URL:     r.URL,
		API:     r.API,
		HTTP:    r.Status,
		TLS:     r.TLS,
		Own:     r.Own,
	}
	p.CAs, p.CRLs = r.Expiring()
	if r.Fault != nil {
		p.Fault, p.Reason = r.Fault.Error(), r.Fault.Reason
	}
	return p
}

// NewCheckStatuses returns findings with their hints.
func NewCheckStatuses(findings []check.Finding) (list []CheckStatus) {
	for _, f := range findings {
		list = append(list, CheckStatus{f, f.Reason.Hint()})
	}
	return list
}
