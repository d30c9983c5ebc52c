package cli

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/haproxy"
)

func haproxyCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "haproxy",
		Usage: "print a backend section for HAProxy that fits this configuration",
		Description: "The section lists the masters given with --server, or those listed as fleet in the\n" +
			"configuration. A comment explains each line. Paste the section into haproxy.cfg.",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringSliceFlag{Name: "server", Usage: "a master, `NAME=ADDRESS` or an address; repeat it for each"},
			&cli.StringSliceFlag{
				Name:  "name",
				Usage: "`NAME` of the backend (default: puppet); ca=puppetca.example.com adds a frontend that tells names apart",
			},
			&cli.BoolFlag{Name: "graceful", Usage: "answer 404 during a drain: HAProxy raises no alert"},
			durationFlag("inter", 2*time.Second, "`TIME` between two checks"),
			&cli.IntFlag{Name: "fall", Value: 3, Usage: "`NUMBER` of failed checks in a row until a master is DOWN"},
		},
		Action: func(c *cli.Context) error { return printBackend(c, environ) },
	}
}

func printBackend(c *cli.Context, environ []string) error {
	settings, err := loadLocal(c, environ)
	if err != nil {
		return err
	}
	given := c.StringSlice("server")
	if len(given)+len(settings.Fleet) == 0 {
		return &exitError{exitUsage, errors.New("no masters: neither --server nor fleet in the configuration"),
			"pmcheck haproxy --server puppet1=192.0.2.11 --server puppet2=192.0.2.12"}
	}
	if durationOf(c, "inter") < 10*time.Millisecond || c.Int("fall") < 1 {
		return usageError("--inter must be at least 10ms and --fall at least 1")
	}
	b := haproxy.Backend{
		Name:     "puppet",
		Graceful: c.Bool("graceful"),
		Inter:    durationOf(c, "inter"),
		Fall:     c.Int("fall"),
		Settings: settings,
	}
	names, err := b.TakeNames(c.StringSlice("name"))
	if err != nil {
		return usageError("%w", err)
	}
	if err := b.AddAll(given); err != nil {
		return usageError("%w", err)
	}
	if len(names) > 0 {
		if err := b.WriteNames(c.App.Writer, names); err != nil {
			return err
		}
	}
	return b.Write(c.App.Writer)
}
