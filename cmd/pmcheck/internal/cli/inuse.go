package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// inUseCommand returns the command that the packages run on an upgrade, and the unit
// before it reloads or stops the daemon. It is not meant for a terminal.
func inUseCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:   "in-use",
		Hidden: true,
		Usage:  "mark this host as in use, so that a later initial_mode does not take it out",
		Flags: []cli.Flag{
			configFlag(),
			&cli.BoolFlag{Name: "served", Usage: "only if the daemon has been answering for an hour that it serves"},
		},
		Action: func(c *cli.Context) error {
			settings, err := loadLocal(c, environ)
			if err != nil {
				return err
			}
			store := settings.Store()
			if c.Bool("served") {
				status, err := api.Client{Socket: settings.Socket}.Ask(c.Context)
				if err != nil || !status.InUse() {
					return err
				}
				store.Initial = drain.Ready // the file may have another one by now, for new hosts
			}
			return writeHint(store.MarkInUse())
		},
	}
}
