package cli

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "show the configuration in effect, and where each value comes from",
		Description: "With --check FILE, only validate that file, on any machine. Exit status: 0 valid, 2 not valid.\n" +
			"What puppet.conf does not say is a warning, for root as the running daemon finds it: pmcheck goes on\n" +
			"with the best that it has.\n" +
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
	from := options(c)
	if c.IsSet("check") {
		from = config.Options{File: c.String("check")} // the environment is the host's
	}
	from = from.Open()
	says := c.App.ErrWriter
	mistakesOnly := c.IsSet("check") || c.Bool("quiet")
	if mistakesOnly {
		says = io.Discard
	}
	if _, err := becomeDaemon(c.Context, says); err != nil {
		return err
	}
	loaded, err := config.Load(from)
	if err != nil {
		return &exitError{status: exitUsage, err: err, hint: fileHint(err)}
	}

	for _, ignored := range loaded.Ignored {
		fmt.Fprintf(c.App.ErrWriter, "pmcheck: warning: %s\n", ignored)
	}
	found := loaded.Config.Checks.Identity()
	otherMachine := c.IsSet("check") && found.Doubt == check.NoPuppet
	if found.Doubt != "" && !otherMachine {
		fmt.Fprintf(c.App.ErrWriter, "pmcheck: warning: %s\nhint: %s\n", found.Detail, check.Hint(found.Doubt))
	}
	if mistakesOnly {
		return nil
	}
	return output(c, nil, func(w io.Writer) { writeSettings(w, loaded) })
}
