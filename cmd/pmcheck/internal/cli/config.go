package cli

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
)

func configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "show the configuration in effect, and where each value comes from",
		Description: "With --check FILE, only validate that file, on any machine. Exit status: 0 valid, 2 not valid.\n" +
			"Example: pmcheck config --check /etc/pmcheck/pmcheck.yaml",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "check", Usage: "validate `FILE`, and print its mistakes only"},
			&cli.BoolFlag{Name: "quiet", Usage: "print only the mistakes of the configuration in effect"},
		},
		Action: showConfig,
	}
}

func showConfig(c *cli.Context) error {
	if c.IsSet("check") {
		_, err := config.Load(config.Options{File: c.String("check")}) // the environment is the host's
		return err
	}
	loaded, err := load(c)
	if err != nil || c.Bool("quiet") {
		return err
	}
	return output(c, nil, func(w io.Writer) { show.Settings(w, loaded) })
}
