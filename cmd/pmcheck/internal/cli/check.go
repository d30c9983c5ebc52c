package cli

import (
	"io"
	"os"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "probe the master once, now, and show what was found",
		Description: "Asks the master itself, independently of the daemon and of holds. For root it asks as the\n" +
			"daemon's user, who must be able to read the files, and sees those that the running daemon sees.\n" +
			"Exit status: 0 healthy or busy, 1 not healthy.\n" +
			"Example: sudo pmcheck check",
		Flags:  []cli.Flag{configFlag()},
		Action: runCheck,
	}
}

func runCheck(c *cli.Context) error {
	entered, err := becomeDaemon(c.Context, c.App.ErrWriter)
	if err != nil {
		return err
	}
	if entered { // the other threads have not
		return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	loaded, err := config.Load(options(c))
	if err != nil {
		return err
	}

	assumed := loaded.Config.Probe.Address
	located, doubted := monitor.Located(c.Context, loaded.Config)
	verdict, result, findings := monitor.Once(c.Context, located)
	err = output(c, nil, func(w io.Writer) {
		writeReport(w, verdict, located.Probe.Address, result, findings, time.Now())
		for _, warning := range status.Whose(assumed, located.Probe.Address, doubted) {
			row(w, "warning", warning)
		}
	})
	if err != nil {
		return err
	}
	if !verdict.Health.Serves() {
		return statusOnly(exitFailure)
	}
	return nil
}
