package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/cmdline"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/nagios"
)

// pluginFlags are the flags of a command that can act as a monitoring plugin. The short
// ones are those of the plugins' guidelines.
func pluginFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "nagios", Usage: "print a plugin line with performance data"},
		threshold("warn-expiry", 30*24*time.Hour, "with --nagios, warn `DURATION` before a certificate or CRL expires"),
		threshold("crit-expiry", 0, "with --nagios, report CRITICAL `DURATION` before one expires"),
		&cli.GenericFlag{
			Name:    "timeout",
			Aliases: []string{"t"},
			Value:   &cmdline.Duration{Duration: 10 * time.Second, Plugin: cmdline.Timeout},
			Usage:   "with --nagios, report UNKNOWN after `DURATION` or a number of seconds",
		},
		&cli.BoolFlag{Name: "plugin-version", Aliases: []string{"V"}, Usage: "print the version; exit with 3, as plugins do"},
	}
}

// threshold returns a flag for a time after which a plugin complains; 0 means never.
func threshold(name string, value time.Duration, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: &cmdline.Duration{Duration: value, Plugin: cmdline.Threshold}, Usage: usage}
}

// runPlugin prints the plugin's line that ask returns, and ends with its state. It returns
// ok as false if the command was not called as a plugin.
func runPlugin(c *cli.Context, ask func(context.Context, nagios.Limits) *nagios.Line) (ok bool, err error) {
	if c.Bool("plugin-version") {
		fmt.Fprintln(c.App.Writer, "pmcheck", daemon.ProgramVersion())
		return true, statusOnly(int(nagios.Unknown))
	}
	if !c.Bool("nagios") {
		return false, nil
	}
	if c.Bool("json") {
		return true, usageError("--json and --nagios cannot be combined")
	}
	c.App.ErrWriter = io.Discard // Icinga shows it before the line
	line := nagios.Within(c.Context, durationOf(c, "timeout"), func(ctx context.Context) *nagios.Line {
		return ask(ctx, nagios.Limits{WarnExpiry: durationOf(c, "warn-expiry"), CritExpiry: durationOf(c, "crit-expiry")})
	})
	fmt.Fprintln(c.App.Writer, line)
	return true, statusOnly(int(line.State))
}
