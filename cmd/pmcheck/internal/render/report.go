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
	Side   check.Side        `json:"side,omitempty"` // whose affair the fault of the probe is
	Detail string            `json:"detail,omitempty"`
	Hint   string            `json:"hint,omitempty"`
	Checks []api.CheckStatus `json:"checks"`
	Probe  api.ProbeStatus   `json:"probe"`
}

// Write writes the report: what was asked, what came back,
// and over which connection.
func (r Report) Write(w io.Writer, result check.Result, now time.Time) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("verdict", "%s", verdictText(r))
	switch {
	case r.Side != "":
		row("fault", "%s: %s", r.Side, r.Detail)
	case r.Detail != "":
		row("detail", "%s", r.Detail)
	}
	if r.Hint != "" {
		row("hint", "%s", r.Hint)
	}
	if result.URL != "" {
		row("asked", "%s", result.URL)
	}
	if result.Status != 0 {
		row("answer", "HTTP status %d in %s, handshake included", result.Status, result.Took.Round(time.Millisecond/10))
	}
	if result.Version != "" {
		row("puppet", "%s", result.Version)
	}
	if result.TLS != nil {
		row("tls", "%s, %s", result.TLS.Version, result.TLS.Cipher)
		row("server", "%s", certificateText(result.TLS.Server, now))
	}
	if result.Own != nil {
		row("own", "%s", certificateText(*result.Own, now))
	}
	for _, crl := range result.CRLs {
		row("crl", "of %s, %s", crl.Issuer, expiryText(crl.Expires, now))
	}
	for _, c := range r.Checks {
		row("check", "%s", CheckLine(c, now))
	}
	if result.Warning != nil {
		row("warning", "newer files are not in use: %v", result.Warning)
	}
}

func verdictText(r Report) string {
	if r.Reason == check.OK {
		return string(r.Health)
	}
	return fmt.Sprintf("%s: %s", r.Health, r.Reason)
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
