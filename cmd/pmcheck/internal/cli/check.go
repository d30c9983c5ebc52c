package cli

import (
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
)

func checkCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "probe the master once, now, and show what was found",
		Description: "Asks the master itself, independently of the daemon and of holds.\n" +
			"Exit status: 0 healthy or busy, 1 not healthy, 2 usage or configuration.",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "explain", Usage: "explain the check or the reason `NAME`; all lists the checks"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error { return runCheck(c, environ) },
	}
}

func runCheck(c *cli.Context, environ []string) error {
	if c.IsSet("explain") {
		if err := show.Explain(c.App.Writer, c.String("explain")); err != nil {
			return &exitError{exitUsage, err, "the reasons are in pmcheck(8)"}
		}
		return nil
	}
	loaded, err := load(c, environ)
	if err != nil {
		return err
	}
	verdict, result, findings := monitor.Once(c.Context, loaded.Config)
	r := show.NewReport(verdict, loaded.Config.Probe.Address, result, findings)
	exit := exitOK
	if !r.Health.Serves() {
		exit = exitFailure
	}
	return output(c, r, func(w io.Writer) { r.Write(w, time.Now()) }, exit)
}
