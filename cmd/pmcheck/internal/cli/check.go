package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
)

// report is what "pmcheck check" found, and its JSON.
type report struct {
	Health check.Health      `json:"health"`
	Reason check.Reason      `json:"reason"`
	Side   check.Side        `json:"side,omitempty"` // whose affair the fault of the probe is
	Detail string            `json:"detail,omitempty"`
	Hint   string            `json:"hint,omitempty"`
	Checks []api.CheckStatus `json:"checks"`
	Probe  api.ProbeStatus   `json:"probe"`
}

func checkCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "probe the master once, now, and say what was found",
		Description: "Asks the master itself, independent of the daemon and of holds.\n" +
			"Exit status: 0 healthy or busy, 1 not healthy, 2 usage or configuration;\n" +
			"with --nagios 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "explain", Usage: "say what the check `NAME` asks, why, and what to do, or what a reason means; all for the names"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
			&cli.BoolFlag{Name: "nagios", Usage: "print a plugin line with performance data"},
			&cli.DurationFlag{Name: "warn-expiry", Value: 30 * 24 * time.Hour, Usage: "with --nagios, warn `DURATION` before a certificate or CRL expires"},
		},
		Action: func(c *cli.Context) error { return runCheck(c, environ) },
	}
}

func runCheck(c *cli.Context, environ []string) error {
	if c.Bool("json") && c.Bool("nagios") {
		return usageError("--json and --nagios exclude each other")
	}
	if c.IsSet("explain") {
		return explain(c.App.Writer, c.String("explain"))
	}
	loaded, err := load(c, environ)
	if err != nil {
		if c.Bool("nagios") {
			fmt.Fprintf(c.App.Writer, "PUPPETSERVER UNKNOWN - %s\n", firstLine(err))
			return &exitError{status: nagiosUnknown}
		}
		return err
	}
	verdict, result, findings := monitor.Once(c.Context, loaded.Config)
	r := report{
		Health: verdict.Health, Reason: verdict.Reason, Detail: verdict.Detail, Hint: verdict.Reason.Hint(),
		Checks: api.NewCheckStatuses(findings), Probe: api.NewProbeStatus(loaded.Config.Probe.Address, result),
	}
	if result.Fault != nil {
		r.Side = result.Fault.Reason.Side()
	}
	switch {
	case c.Bool("nagios"):
		status, line := nagios(r, c.Duration("warn-expiry"), time.Now())
		fmt.Fprintln(c.App.Writer, line)
		return statusOnly(status)
	case c.Bool("json"):
		if err := printJSON(c.App.Writer, r); err != nil {
			return err
		}
	default:
		printReport(c.App.Writer, r, result, time.Now())
	}
	if !r.Health.Serves() {
		return statusOnly(exitFailure)
	}
	return nil
}

// statusOnly ends with an exit status when everything has been said.
func statusOnly(status int) error {
	if status == exitOK {
		return nil
	}
	return &exitError{status: status}
}

// explain prints what there is to know about a check, or about a reason and the
// check that gives it.
func explain(w io.Writer, name string) error {
	if name == "all" {
		for _, n := range check.Names() {
			e, _ := check.Explain(n)
			fmt.Fprintf(w, "%-10s %s\n", n, e.Title)
		}
		return nil
	}
	e, known := check.Explain(name)
	if known {
		fmt.Fprint(w, e)
		return nil
	}
	reason := check.Reason(name)
	if !slices.Contains(check.Reasons(), reason) {
		return &exitError{exitUsage, &hinted{fmt.Errorf("no check and no reason %q: there are the checks %s", name, strings.Join(check.Names(), ", ")),
			"the reasons are in pmcheck(8)"}}
	}
	hint := reason.Hint()
	if hint == "" {
		hint = "the detail beside it says what is the case"
	}
	fmt.Fprintf(w, "%s: %s\n", reason, hint)
	if e, known := check.Explain(reason.Check()); known {
		fmt.Fprintf(w, "\nIt is a reason of this check.\n%s", e)
	}
	return nil
}

// printReport writes a report for a person: what was asked, what came back,
// and over which connection.
func printReport(w io.Writer, r report, result check.Result, now time.Time) {
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
		row("check", "%s", checkLine(c, now))
	}
	if result.Warning != nil {
		row("warning", "newer files are not in use: %v", result.Warning)
	}
}

func verdictText(r report) string {
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
		return fmt.Sprintf("expired %s (%s ago)", date, days(now.Sub(t)))
	}
	return fmt.Sprintf("expires %s (in %s)", date, days(t.Sub(now)))
}

// days writes a long time in days, a short one in hours.
func days(d time.Duration) string {
	if d < 48*time.Hour {
		return fmt.Sprintf("%d hours", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func printJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", data)
	return err
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
