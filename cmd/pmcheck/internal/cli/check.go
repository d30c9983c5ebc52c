package cli

import (
	"context"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/nagios"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
)

func checkCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "probe the master once, now, and show what was found",
		Description: "Asks the master itself, independently of the daemon and of holds.\n" +
			"Exit status: 0 healthy or busy, 1 not healthy, 2 usage or configuration;\n" +
			"with --nagios 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.",
		Flags: append([]cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "explain", Usage: "explain the check or the reason `NAME`; all lists the checks"},
			jsonFlag(),
		}, pluginFlags()...),
		Action: func(c *cli.Context) error { return runCheck(c, environ) },
	}
}

func runCheck(c *cli.Context, environ []string) error {
	plugin, err := runPlugin(c, func(ctx context.Context, limits nagios.Limits) *nagios.Line {
		loaded, err := load(c, environ)
		if err != nil {
			return nagios.Failed(nagios.Unknown, err)
		}
		r := probe(ctx, loaded.Config)
		verdict := check.Verdict{Health: r.Health, Reason: r.Reason, Detail: r.Detail}
		return nagios.Probe(verdict, r.Probe, r.Checks, limits, time.Now())
	})
	if plugin {
		return err
	}
	if c.IsSet("explain") {
		if err := render.Explain(c.App.Writer, c.String("explain")); err != nil {
			return &exitError{exitUsage, err, "the reasons are in pmcheck(8)"}
		}
		return nil
	}
	loaded, err := load(c, environ)
	if err != nil {
		return err
	}
	r := probe(c.Context, loaded.Config)
	exit := exitOK
	if !r.Health.Serves() {
		exit = exitFailure
	}
	return show(c, r, func(w io.Writer) { r.Write(w, time.Now()) }, exit)
}

// probe probes the master once.
func probe(ctx context.Context, c config.Config) render.Report {
	verdict, result, findings := monitor.Once(ctx, c)
	return render.NewReport(verdict, c.Probe.Address, result, findings)
}
