package cli

import "github.com/urfave/cli/v2"

// inUseCommand returns the command that the packages run on an upgrade. It is not meant
// for a terminal.
func inUseCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:   "in-use",
		Hidden: true,
		Usage:  "mark this host as in use, so that a later initial_mode does not take it out",
		Flags:  []cli.Flag{configFlag()},
		Action: func(c *cli.Context) error {
			settings, err := loadLocal(c, environ)
			if err != nil {
				return err
			}
			return writeHint(settings.Store().MarkInUse())
		},
	}
}
