// Package cli is pmcheck's command line. Each command has a file, with its flags, the order of its steps and what it
// prints; app.go joins them. Commands that take the master out share world.go, and exit.go has the exit statuses and
// hints. What a person reads and what is longer than a line is in writestatus.go, writereport.go and progress.go, which
// decide nothing. It is the only package that decides where output goes.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/drain"
)

// The result of a command goes to stdout, everything else to stderr. An error is
// one line, "pmcheck: " and what is wrong, in lower case without a full stop. A line
// "hint: " with the fix may follow.

// Run runs pmcheck with these arguments and streams, and returns the exit status. args[0] is the name of the program.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if unsafeToComplete(args) {
		return exitOK
	}

	err := newApp(stdin, stdout, stderr).RunContext(ctx, args)
	if err == nil {
		return exitOK
	}
	exit := explain(err)
	exit.complain(stderr)
	return exit.status
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:                 "pmcheck",
		Usage:                "tell a load balancer whether this Puppet Server should get agents",
		Version:              daemon.ProgramVersion(),
		Reader:               stdin,
		Writer:               stdout,
		ErrWriter:            stderr,
		EnableBashCompletion: true,
		ExitErrHandler:       func(*cli.Context, error) {}, // Run handles errors
		OnUsageError:         onUsageError,
		Commands: []*cli.Command{
			serveCommand(),
			statusCommand(),
			holdCommand(drain.Drain, "take no new agents, finish those under way"),
			holdCommand(drain.Maint, "take no agents at all"),
			readyCommand(),
			waitCommand(),
			withHoldCommand(),
			budgetCommand(),
			checkCommand(),
			configCommand(),
			demoCommand(),
			completionCommand(),
			versionCommand(),
			guardCommand(),
			gateCommand(),
		},
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				hint := suggest(c.App.VisibleCommands(), name)
				return &exitError{status: exitUsage, err: fmt.Errorf("unknown command %q", name), hint: hint}
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, command := range app.Commands {
		prepare(command)
	}
	return app
}

// prepare sets what every command has.
func prepare(command *cli.Command) {
	command.OnUsageError = onUsageError
	for _, f := range command.Flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true // no "(default: false)"
		}
	}
	if command.ArgsUsage == "" {
		command.Before = refuseArguments
	}

	// systemd ends the daemon and the gate, and with-hold waits for its command, which gets the signals.
	waits := slices.Contains([]string{"serve", "gate", "with-hold"}, command.Name)
	if action := command.Action; action != nil && !waits {
		command.Action = func(c *cli.Context) error {
			_, err := promptly(c.Context, func() (struct{}, error) { return struct{}{}, action(c) })
			return err
		}
	}
}

// refuseArguments is for a command without arguments. urfave/cli stops parsing flags at the first argument: "drain now
// --reason x" would drain without the reason.
func refuseArguments(c *cli.Context) error {
	if c.NArg() > 0 {
		return misused(c, fmt.Errorf("%s takes no argument %q", c.Command.HelpName, c.Args().First()))
	}
	return nil
}

// misused returns an error with the hint that --help shows the usage.
func misused(c *cli.Context, err error) error {
	return &exitError{status: exitUsage, err: err, hint: c.Command.HelpName + " --help shows the usage"}
}

// onUsageError returns the error for a mistake in the flags, which urfave/cli would print on stdout.
func onUsageError(c *cli.Context, err error, _ bool) error { return misused(c, err) }

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the version",
		Description: "Example: pmcheck version",
		Action: func(c *cli.Context) error {
			_, err := fmt.Fprintln(c.App.Writer, c.App.Name, c.App.Version)
			return err
		},
	}
}
