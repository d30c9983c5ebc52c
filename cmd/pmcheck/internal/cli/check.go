package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
)

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
			durationFlag("warn-expiry", 30*24*time.Hour, "with --nagios, warn `DURATION` before a certificate or CRL expires"),
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
			return &exitError{status: render.NagiosUnknown}
		}
		return err
	}
	verdict, result, findings := monitor.Once(c.Context, loaded.Config)
	r := render.Report{
		Health: verdict.Health, Reason: verdict.Reason, Detail: verdict.Detail, Hint: verdict.Reason.Hint(),
		Checks: api.NewCheckStatuses(findings), Probe: api.NewProbeStatus(loaded.Config.Probe.Address, result),
	}
	if result.Fault != nil {
		r.Side = result.Fault.Reason.Side()
	}
	switch {
	case c.Bool("nagios"):
		status, line := r.Nagios(durationOf(c, "warn-expiry"), time.Now())
		fmt.Fprintln(c.App.Writer, line)
		return statusOnly(status)
	case c.Bool("json"):
		if err := printJSON(c.App.Writer, r); err != nil {
			return err
		}
	default:
		r.Write(c.App.Writer, result, time.Now())
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
