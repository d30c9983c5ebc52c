package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

// Report is what "pmcheck check" found, and its JSON.
type Report struct {
	Health check.Health      `json:"health"`
	Reason check.Reason      `json:"reason"`
	Side   check.Side        `json:"side,omitempty"` // which side the fault of the probe is on
	Detail string            `json:"detail,omitempty"`
	Hint   string            `json:"hint,omitempty"`
	Checks []api.CheckStatus `json:"checks"`
	Probe  api.ProbeStatus   `json:"probe"`

	warning string
}

// NewReport returns a report on what a probe of the master at address and the other
// checks found. Text from the master, including its certificate, is made printable.
func NewReport(v check.Verdict, address string, result check.Result, findings []check.Finding) Report {
	r := Report{
		Health: v.Health,
		Reason: v.Reason,
		Detail: v.Detail,
		Hint:   v.Reason.Hint(),
		Checks: api.NewCheckStatuses(findings),
		Probe:  api.NewProbeStatus(address, result),
	}
	if result.Fault != nil {
		r.Side = result.Fault.Reason.Side()
	}
	if result.Warning != nil {
		r.warning = text.Printable("newer files are not in use: "+result.Warning.Error(), maxLine)
	}
	api.Printable(&r)
	return r
}

// Write writes the report: what was asked, what came back, and over which
// connection.
func (r Report) Write(w io.Writer, now time.Time) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	row(t, "verdict", Verdict(check.Verdict{Health: r.Health, Reason: r.Reason}))
	if r.Side == "" {
		row(t, "detail", r.Detail)
	} else {
		row(t, "fault", string(r.Side)+": "+r.Detail)
	}
	row(t, "hint", r.Hint)
	p := r.Probe
	row(t, "asked", p.URL)
	if p.HTTP != 0 {
		took := time.Duration(p.Took * float64(time.Second)).Round(time.Millisecond / 10)
		row(t, "answer", fmt.Sprintf("HTTP status %d in %s, handshake included", p.HTTP, took))
	}
	row(t, "puppet", p.Puppet)
	if p.TLS != nil {
		row(t, "tls", p.TLS.Version+", "+p.TLS.Cipher)
		row(t, "server", certificateText(p.TLS.Server, now))
	}
	if p.Own != nil {
		row(t, "own", certificateText(*p.Own, now))
	}
	for _, crl := range p.CRLs {
		row(t, "crl", "of "+crl.Issuer+", "+expiryText(crl.Expires, now))
	}
	for _, c := range r.Checks {
		row(t, "check", checkLine(c, now))
	}
	row(t, "warning", r.warning)
}

func certificateText(c check.Certificate, now time.Time) string {
	return fmt.Sprintf("%s, serial %s, issued by %s, %s", c.Subject, c.Serial, c.Issuer, expiryText(c.NotAfter, now))
}

func expiryText(t, now time.Time) string {
	date := t.UTC().Format(time.RFC3339)
	if t.Before(now) {
		return fmt.Sprintf("expired %s (%s ago)", date, text.Age(now.Sub(t)))
	}
	return fmt.Sprintf("expires %s (in %s)", date, text.Age(t.Sub(now)))
}

// Exit statuses of a monitoring plugin.
const (
	NagiosOK = iota
	NagiosWarning
	NagiosCritical
	NagiosUnknown
)

// Nagios returns the report as a monitoring plugin prints it: the exit status, and one
// line with performance data behind the bar.
func (r Report) Nagios(warnExpiry time.Duration, now time.Time) (status int, line string) {
	status, text := nagiosVerdict(r)
	perf := []string{fmt.Sprintf("time=%.4fs;;;0", r.Probe.Took)}
	for _, e := range r.expiries() {
		left := e.at.Sub(now)
		warn := check.ExpiryMargin(warnExpiry, e.from, e.at)
		perf = append(perf, fmt.Sprintf("%s=%ds;%d:", e.name, int(left.Seconds()), int(warn.Seconds())))
		if status == NagiosOK && left < warn {
			status, text = NagiosWarning, fmt.Sprintf("%s %s", e.label, expiryText(e.at, now))
		}
	}
	word := []string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[status]
	// In a plugin's line, a bar begins the performance data.
	text = strings.ReplaceAll(text, "|", "/")
	return status, fmt.Sprintf("PUPPETSERVER %s - %s | %s", word, text, strings.Join(perf, " "))
}

func nagiosVerdict(r Report) (status int, text string) {
	switch r.Health {
	case check.Healthy:
		return NagiosOK, "running"
	case check.Busy, check.Warming:
		status = NagiosWarning
	case check.Unhealthy:
		status = NagiosCritical
	default:
		status = NagiosUnknown
	}
	return status, fmt.Sprintf("%s: %s: %s", r.Health, r.Reason, r.Detail)
}

// expiry is a certificate or a CRL, and when it expires.
type expiry struct {
	name, label string
	from, at    time.Time
}

func (r Report) expiries() []expiry {
	var list []expiry
	if r.Probe.TLS != nil {
		c := r.Probe.TLS.Server
		list = append(list, expiry{"server_cert", "server certificate", c.NotBefore, c.NotAfter})
	}
	if c := r.Probe.Own; c != nil {
		list = append(list, expiry{"own_cert", "own certificate", c.NotBefore, c.NotAfter})
	}
	if first, any := r.Probe.FirstCRL(); any {
		list = append(list, expiry{"crl", "CRL", first.Updated, first.Expires})
	}
	return list
}
