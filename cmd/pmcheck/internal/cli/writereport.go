package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// writeReport writes what "pmcheck check" found: the verdict, what was asked at address, what came back, over which
// connection, and the other checks. Text from the master, including its certificate, is made printable.
func writeReport(
	w io.Writer, v check.Verdict, address string, result check.Result, findings []check.Finding, now time.Time,
) {
	p := status.NewProbeStatus(address, result)
	status.Printable(&v)
	status.Printable(&p)
	status.Printable(&findings)

	row(w, "verdict", v.String())
	row(w, "  detail", v.Detail)
	row(w, "  hint", check.Hint(v.Reason))

	row(w, "asked", p.URL)
	if p.HTTP != 0 {
		took := status.Seconds(p.Took).Round(time.Millisecond / 10)
		row(w, "answer", fmt.Sprintf("HTTP status %d in %s, handshake included", p.HTTP, took))
	}
	row(w, "tls", result.TLS)
	for _, e := range p.Expiries {
		row(w, e.Of, fmt.Sprintf("%s, serial %s, expiry %s", e.Name, e.Serial, text.When(e.Until, now)))
	}

	for _, f := range findings {
		checkRows(w, f, v, now)
	}
}

// writeSettings writes the settings in effect with their origins.
func writeSettings(w io.Writer, loaded *config.Loaded) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) // a cell ends in a tab
	for _, s := range loaded.Settings() {
		fmt.Fprintf(t, "%s\t%s\t# %s\n", s.Key, s.Value, s.Origin)
	}
	t.Flush()
}
