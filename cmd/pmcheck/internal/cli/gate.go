package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/gate"
	"github.com/pmcheck/pmcheck/systemd"
)

// gateCommand returns the command that pmcheck-gate.service runs. It is not meant for a
// terminal.
func gateCommand() *cli.Command {
	return &cli.Command{
		Name:      "gate",
		Hidden:    true,
		Usage:     "refuse new connections to Puppet's port while this master is held",
		ArgsUsage: "run|open",
		Flags:     []cli.Flag{configFlag()},
		Action:    runGate,
	}
}

func runGate(c *cli.Context) error {
	verb := c.Args().First()
	if c.NArg() != 1 || verb != "run" && verb != "open" {
		return usageError("gate takes run or open")
	}
	if verb == "open" {
		return gate.Open()
	}

	loaded, err := config.Load(options(c))
	if err != nil {
		return err
	}
	log := systemd.NewLogger(c.App.ErrWriter, loaded.Config.Log.Level)
	g := &gate.Gate{Settings: loaded.Config, Log: log, Dir: systemd.RuntimeDirectory()}
	return g.Run(c.Context)
}
