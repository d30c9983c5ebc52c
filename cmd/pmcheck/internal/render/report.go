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
}

// Write writes the report: what was asked, what came back, and over which
// connection.
func (r Report) Write(w io.Writer, result check.Result, now time.Time) {
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
	row("asked", result.URL)
	if result.Status != 0 {
		took := result.Took.Round(time.Millisecond / 10)
		row("answer", fmt.Sprintf("HTTP status %d in %s, handshake included", result.Status, took))
	}
	row("puppet", result.Version)
	if result.TLS != nil {
		row("tls", result.TLS.Version+", "+result.TLS.Cipher)
		row("server", certificateText(result.TLS.Server, now))
	}
	if result.Own != nil {
		row("own", certificateText(*result.Own, now))
	}
	for _, crl := range result.CRLs {
		row("crl", "of "+crl.Issuer+", "+expiryText(crl.Expires, now))
	}
	for _, c := range r.Checks {
		row("check", checkLine(c, now))
	}
	if result.Warning != nil {
		row("warning", "newer files are not in use: "+result.Warning.Error())
	}
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
