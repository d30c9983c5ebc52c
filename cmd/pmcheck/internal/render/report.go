package render

import (
	"fmt"
	"io"
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

// NewReport makes a report of what a probe of the master at address and the other
// checks found. What the master sent, its certificate too, is made printable.
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
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, value)
		}
	}
	row("verdict", Verdict(check.Verdict{Health: r.Health, Reason: r.Reason}))
	if r.Side == "" {
		row("detail", r.Detail)
	} else {
		row("fault", string(r.Side)+": "+r.Detail)
	}
	row("hint", r.Hint)
	p := r.Probe
	row("asked", p.URL)
	if p.HTTP != 0 {
		took := time.Duration(p.Took * float64(time.Second)).Round(time.Millisecond / 10)
		row("answer", fmt.Sprintf("HTTP status %d in %s, handshake included", p.HTTP, took))
	}
	row("puppet", p.Puppet)
	if p.TLS != nil {
		row("tls", p.TLS.Version+", "+p.TLS.Cipher)
		row("server", certificateText(p.TLS.Server, now))
	}
	if p.Own != nil {
		row("own", certificateText(*p.Own, now))
	}
	for _, crl := range p.CRLs {
		row("crl", "of "+crl.Issuer+", "+expiryText(crl.Expires, now))
	}
	for _, c := range r.Checks {
		row("check", checkLine(c, now))
	}
	row("warning", r.warning)
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
