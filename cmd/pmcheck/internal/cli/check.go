package cli

import (
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
			"Exit status: 0 healthy or busy, 1 not healthy, 2 usage or configuration.\n" +
			"Example: sudo pmcheck check",
		Flags:  []cli.Flag{configFlag()},
		Action: func(c *cli.Context) error { return runCheck(c, environ) },
	}
}

func runCheck(c *cli.Context, environ []string) error {
	loaded, err := load(c, environ)
	if err != nil {
		return err
	}
	verdict, result, findings := monitor.Once(c.Context, loaded.Config)
	if err := show.Report(c.App.Writer, verdict, loaded.Config.Probe.Address, result, findings, time.Now()); err != nil {
		return err
	}
	if !verdict.Health.Serves() {
		return statusOnly(exitFailure)
	}
	return nil
}
