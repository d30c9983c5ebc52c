package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
)

func configCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:        "config",
		Usage:       "show the configuration in effect, and where each value comes from",
		Description: "With --check FILE, only validate that file, on any machine. Exit status: 0 valid, 2 not valid.",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "check", Usage: "validate `FILE`, and print its mistakes only"},
			&cli.BoolFlag{Name: "quiet", Usage: "print only the mistakes of the configuration in effect"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error { return showConfig(c, environ) },
	}
}

func showConfig(c *cli.Context, environ []string) error {
	if c.IsSet("check") {
		if c.String("check") == "" {
			return usageError("--check needs the name of a file")
		}
		_, err := config.Check(config.Options{File: c.String("check")}) // the environment is the host's
		return mistakes(err)
	}
	loaded, err := load(c, environ)
	if err != nil {
		return err
	}
	if c.Bool("quiet") {
		return nil
	}
	r := show.NewSettings(loaded)
	return output(c, r, r.Write, exitOK)
}
