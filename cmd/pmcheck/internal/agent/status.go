package agent

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// Status is everything pmcheck knows: the JSON of /status and of
// "pmcheck status --json". Fields are only ever added.
type Status struct {
	Version  string          `json:"version"`  // of pmcheck
	Certname string          `json:"certname"` // of the master
	Time     time.Time       `json:"time"`     // when this was written
	Started  time.Time       `json:"started"`  // when the daemon started
	Services []ServiceStatus `json:"services"`
	Holds    []HoldStatus    `json:"holds"`
	// Balancers are those who ask, and what they make of this master.
	Balancers []Balancer `json:"balancers"`
	// AgentLine is what agent-checks are told; empty if they are not answered.
	AgentLine string       `json:"agent_line,omitempty"`
	Probe     ProbeStatus  `json:"probe"`
	Config    ConfigStatus `json:"config"`
	Warnings  []string     `json:"warnings,omitempty"`
}

// ServiceStatus is one service: what the operators want of it, what is true,
// and what balancers are told.
type ServiceStatus struct {
	Name    string        `json:"name"`
	Mode    drain.Mode    `json:"mode"`
	Verdict check.Verdict `json:"verdict"`
	Hint    string        `json:"hint,omitempty"` // what to do about the verdict
	Answer  Answer        `json:"answer"`         // to a balancer that chose no codes
	Answers []KindAnswer  `json:"answers"`        // to each kind of balancer
	Checks  []CheckStatus `json:"checks,omitempty"`
	Probes  int64         `json:"probes"` // since the daemon started
}

// CheckStatus is one check beside the probe.
type CheckStatus struct {
	check.Finding
	Hint string `json:"hint,omitempty"` // what to do when it is not well
}

// KindAnswer is what one kind of balancer is told now.
type KindAnswer struct {
	Kind string `json:"kind"` // classic, graceful or health-only
	Path string `json:"path"` // what such a balancer asks
	Answer
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
	Puppet   string              `json:"puppet_version,omitempty"`
	TLS      *check.TLS          `json:"tls,omitempty"`
	Own      *check.Certificate  `json:"own_certificate,omitempty"`
	CAs      []check.Certificate `json:"cas,omitempty"`
	CRLs     []check.CRL         `json:"crls,omitempty"`
	Fault    string              `json:"fault,omitempty"`
	Reason   check.Reason        `json:"reason,omitempty"`
	Interval float64             `json:"interval_seconds"`
	// Own are pmcheck's ends of its connections to the master.
	Connections []netip.AddrPort `json:"own_connections"`
}

// ConfigStatus is the configuration in use.
type ConfigStatus struct {
	File   string      `json:"file"`
	Loaded time.Time   `json:"loaded"`
	Error  string      `json:"error,omitempty"` // why a newer one is not in use
	Holds  HoldsConfig `json:"holds"`
}

// HoldsConfig is where the daemon looks for holds, since it started: a reload does
// not change it.
type HoldsConfig struct {
	Persistent  string     `json:"persistent"`
	UntilReboot string     `json:"until_reboot"`
	InitialMode drain.Mode `json:"initial_mode"`
}

// NewProbeStatus describes a result.
func NewProbeStatus(address string, r check.Result) ProbeStatus {
	p := ProbeStatus{
		Address: address, Asked: r.Asked, Took: r.Took.Seconds(), URL: r.URL, API: r.API,
		HTTP: r.Status, Puppet: r.Version, TLS: r.TLS, Own: r.Own, CAs: r.CAs, CRLs: r.CRLs,
	}
	if r.Fault != nil {
		p.Fault, p.Reason = r.Fault.Error(), r.Fault.Reason
	}
	return p
}

// FirstCRLExpiry returns when the first of the CRLs expires, and whether there
// is one.
func (p ProbeStatus) FirstCRLExpiry() (time.Time, bool) {
	if len(p.CRLs) == 0 {
		return time.Time{}, false
	}
	first := p.CRLs[0].Expires
	for _, crl := range p.CRLs[1:] {
		if crl.Expires.Before(first) {
			first = crl.Expires
		}
	}
	return first, true
}

// Status returns what the agent knows now.
func (a *Agent) Status(now time.Time) Status {
	s := a.state.Load()
	settings := a.settings.Load()
	status := Status{
		Version: a.Version, Certname: settings.Probe.Certname, Time: now, Started: a.started,
		Probe:     NewProbeStatus(settings.Probe.Address, s.result),
		Config:    *a.configStatus.Load(),
		Balancers: a.balancers.current(now),
		Holds:     []HoldStatus{},
	}
	status.Config.Holds = HoldsConfig{a.store.Persistent, a.store.UntilReboot, a.store.Initial}
	status.Probe.Count, status.Probe.Connections = s.probes, s.own
	status.Probe.Interval = settings.Probe.Interval.Seconds()
	for _, v := range s.services {
		verdict := v.verdict.At(now)
		mode, _ := s.mode(v.name, now)
		status.Services = append(status.Services, ServiceStatus{
			Name: v.name, Mode: mode, Verdict: verdict, Hint: verdict.Reason.Hint(), Probes: v.probes,
			Answer: Decide(mode, verdict, Codes{}), Answers: kinds(v.name, mode, verdict),
		})
	}
	status.Services[0].Checks = checkStatus(s.findings) // they concern the master itself
	for _, h := range s.holds.At(now).Holds() {
		status.Holds = append(status.Holds, HoldStatus{Hold: h, Who: h.Who()})
		if _, known := s.find(h.Service); h.Service != "" && !known {
			status.Warnings = append(status.Warnings, fmt.Sprintf("the hold of %s is on %s, and there is no such service: %s", h.Holder, h.Service, h.Path))
		}
	}
	if len(a.AgentPorts) > 0 {
		status.AgentLine = s.agentAnswer(now).Body
		status.Warnings = append(status.Warnings, weightless(status.Balancers)...)
	}
	if w := warningText(s); w != "" {
		status.Warnings = append(status.Warnings, w)
	}
	if s.degraded != nil {
		status.Warnings = append(status.Warnings, "holds are noticed late: "+s.degraded.Error())
	}
	return status
}

// kinds lists the ways in which balancers usually ask, and what they are told.
func kinds(service string, mode drain.Mode, v check.Verdict) []KindAnswer {
	kind := func(name, query string, codes Codes) KindAnswer {
		return KindAnswer{Kind: name, Path: "/" + service + query, Answer: Decide(mode, v, codes)}
	}
	return []KindAnswer{
		kind("classic", "", Codes{}),
		kind("graceful", "?drain=404", Codes{Drain: http.StatusNotFound}),
		kind("health-only", "?drain=200&maint=200", Codes{Drain: http.StatusOK, Maint: http.StatusOK}),
	}
}
