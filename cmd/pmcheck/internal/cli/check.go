package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
)

func checkCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "probe the master once, now, and show what was found",
		Description: "Asks the master itself, independently of the daemon and of holds.\n" +
			"Exit status: 0 healthy or busy, 1 not healthy, 2 usage or configuration;\n" +
			"with --nagios 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{
				Name:  "explain",
				Usage: "explain the check or the reason `NAME`; all lists the checks",
			},
			jsonFlag(),
			&cli.BoolFlag{Name: "nagios", Usage: "print a plugin line with performance data"},
			durationFlag("warn-expiry", 30*24*time.Hour, "with --nagios, warn `DURATION` before a certificate or CRL expires"),
		},
		Action: func(c *cli.Context) error { return runCheck(c, environ) },
	}
}

func runCheck(c *cli.Context, environ []string) error {
	if c.Bool("json") && c.Bool("nagios") {
		return usageError("--json and --nagios cannot be combined")
	}
	if c.IsSet("explain") {
		if err := render.Explain(c.App.Writer, c.String("explain")); err != nil {
			return &exitError{exitUsage, err, "the reasons are in pmcheck(8)"}
		}
		return nil
	}
	loaded, err := load(c, environ)
	if err != nil {
		if c.Bool("nagios") {
			line, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Fprintf(c.App.Writer, "PUPPETSERVER UNKNOWN - %s\n", line)
			return statusOnly(render.NagiosUnknown)
		}
		return err
	}
	verdict, result, findings := monitor.Once(c.Context, loaded.Config)
	r := render.NewReport(verdict, loaded.Config.Probe.Address, result, findings)
	if c.Bool("nagios") {
		status, line := r.Nagios(durationOf(c, "warn-expiry"), time.Now())
		fmt.Fprintln(c.App.Writer, line)
		return statusOnly(status)
	}
	exit := exitOK
	if !r.Health.Serves() {
		exit = exitFailure
	}
	return show(c, r, func(w io.Writer) { r.Write(w, time.Now()) }, exit)
}
