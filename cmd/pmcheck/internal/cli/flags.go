package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/drain"
)

// configFlag returns the flag that names the configuration file. Like every flag, it
// comes after the command.
func configFlag() *cli.StringFlag {
	return &cli.StringFlag{
		Name:    "config",
		Aliases: []string{"c"},
		EnvVars: []string{"PMCHECK_CONFIG"},
		Usage:   "read `FILE` instead of " + config.DefaultFile,
	}
}

func holderFlag(holder string) cli.Flag {
	const usage = "act as `HOLDER`: holders do not touch each other's holds"
	return &cli.StringFlag{Name: "hold", Value: holder, Usage: usage, Action: checkName("hold")}
}

func serviceFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "service", Usage: usage, Action: checkName("service")}
}

// serviceOf returns the value of a serviceFlag; EveryService without one.
func serviceOf(c *cli.Context) drain.Service { return drain.Service(c.String("service")) }

func checkName(flag string) func(*cli.Context, string) error {
	return func(_ *cli.Context, name string) error {
		if err := drain.CheckName(name); err != nil {
			return usageError("--%s: %w", flag, err)
		}
		return nil
	}
}

// requestFlags returns the flags of a command that takes the master out, and more of its own.
func requestFlags(holder, timeout string, more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		configFlag(),
		holderFlag(holder),
		serviceFlag("hold `SERVICE` only, for example ca"),
		&cli.StringFlag{Name: "reason", Aliases: []string{"r"}, Usage: "say why, in `WORDS` that are shown with the hold"},
		durationFlag("timeout", timeout, "give up if the master is not out, or not idle, after `DURATION`"),
		&cli.BoolFlag{Name: "now", Usage: "tell every balancer at once, and wait for none"},
		&cli.BoolFlag{Name: "force", Usage: "even if a balancer would have no server left, or the budget refuses"},
	}, more...)
}

func requestOf(c *cli.Context, mode drain.Mode) leave.Request {
	return leave.Request{
		By:    person(c.String("hold")),
		Wait:  durationOf(c, "timeout"),
		Now:   c.Bool("now"),
		Force: c.Bool("force"),
		Hold: drain.Hold{
			Holder:  c.String("hold"),
			Service: serviceOf(c),
			Mode:    mode,
			Reason:  c.String("reason"),
		},
	}
}

// person returns who takes a master out as the operator, if sudo tells.
func person(holder string) string {
	if holder != drain.Operator {
		return ""
	}
	return os.Getenv("SUDO_USER")
}

// durationFlag returns a flag that takes a duration above 0 in the syntax of the configuration.
func durationFlag(name, value, usage string) cli.Flag {
	positive := func(_ *cli.Context, s string) error {
		d, err := config.ParseDuration(s)
		if err == nil && d <= 0 {
			err = fmt.Errorf("must be above 0, not %s", s)
		}
		if err != nil {
			return usageError("--%s: %w", name, err)
		}
		return nil
	}
	return &cli.StringFlag{Name: name, Value: value, Usage: usage, Action: positive}
}

// durationOf returns the value of a durationFlag; 0 if it is empty.
func durationOf(c *cli.Context, name string) time.Duration {
	d, _ := config.ParseDuration(c.String(name))
	return d
}
