package show

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// Report is what "pmcheck check" found, and its JSON.
type Report struct {
	Health check.Health         `json:"health"`
	Reason check.Reason         `json:"reason"`
	Side   check.Side           `json:"side,omitempty"` // which side the fault of the probe is on
	Detail string               `json:"detail,omitempty"`
	Hint   string               `json:"hint,omitempty"`
	Checks []status.CheckStatus `json:"checks"`
	Probe  status.ProbeStatus   `json:"probe"`

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
		Checks: status.NewCheckStatuses(findings),
		Probe:  status.NewProbeStatus(address, result),
	}
	if result.Fault != nil {
		r.Side = result.Fault.Reason.Side()
	}
	if result.Warning != nil {
		r.warning = text.Printable("not all files are in use: "+result.Warning.Error(), maxLine)
	}
	status.Printable(&r)
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
		took := status.Seconds(p.Took).Round(time.Millisecond / 10)
		row(t, "answer", fmt.Sprintf("HTTP status %d in %s, handshake included", p.HTTP, took))
	}
	if p.TLS != nil {
		row(t, "tls", p.TLS.Version+", "+p.TLS.Cipher)
		row(t, "server", certificateText(p.TLS.Server, now))
	}
	if p.Own != nil {
		row(t, "own", certificateText(*p.Own, now))
	}
	for _, crl := range p.CRLs {
		row(t, "crl", "of "+crl.Issuer+", "+Expiry(crl.Expires, now))
	}
	for _, c := range r.Checks {
		row(t, "check", checkLine(c, now))
	}
	row(t, "warning", r.warning)
}

func certificateText(c check.Certificate, now time.Time) string {
	return fmt.Sprintf("%s, serial %s, issued by %s, %s", c.Subject, c.Serial, c.Issuer, Expiry(c.NotAfter, now))
}

// Expiry describes when something expires, or that it has.
func Expiry(t, now time.Time) string {
	date := t.UTC().Format(time.RFC3339)
	if t.Before(now) {
		return fmt.Sprintf("expired %s (%s ago)", date, text.Age(now.Sub(t)))
	}
	return fmt.Sprintf("expires %s (in %s)", date, text.Age(t.Sub(now)))
}
