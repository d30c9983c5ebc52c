// Package cli is pmcheck's command line: one file for each command. It is the
// only package that decides where output goes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
	"github.com/pmcheck/pmcheck/drain"
)

// The result of a command goes to stdout, everything else to stderr. An error is
// one line, "pmcheck: " and what is wrong, in lower case without a full stop. A line
// "hint: " with the fix may follow.

// Exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // of the command line or the configuration

	exitHeld        = 3   // status: held out of service
	exitUnhealthy   = 4   // status: not held, but not healthy
	exitNoDaemon    = 5   // status: the daemon does not answer
	exitTimeout     = 6   // wait, --wait: not reached in time
	exitRefused     = 7   // drain, maint: a balancer would have no server left, or the budget is used up or not known
	exitInterrupted = 130 // by a signal, while it waited
)

// maxLine is the longest line of an error.
const maxLine = 4000

// exitError carries an exit status up to Run.
type exitError struct {
	status int
	err    error  // nil if there is nothing more to print
	hint   string // advice for the person at the terminal; may be empty
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return &exitError{status: exitUsage, err: fmt.Errorf(format, args...)}
}

// statusOnly returns the error with which a command ends that has printed everything.
func statusOnly(status int) error {
	if status == exitOK {
		return nil
	}
	return &exitError{status: status}
}

// Run runs pmcheck with these arguments, environment and streams, and returns the exit
// status. args[0] is the name of the program.
func Run(args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if unsafeToComplete(args) {
		return exitOK
	}
	err := newApp(environ, stdin, stdout, stderr).RunContext(ctx, args)
	if err == nil {
		return exitOK
	}
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case ok:
	case errors.As(err, new(cli.ExitCoder)): // of "pmcheck help" for a command that does not exist
		exit = &exitError{status: exitUsage, err: err}
	case errors.Is(err, context.Canceled):
		said := strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
		exit = &exitError{status: exitInterrupted, err: errors.New(said)}
	default:
		exit = &exitError{status: exitFailure, err: err}
	}
	exit.complain(stderr)
	return exit.status
}

// complain prints the error and its hint. Both may quote names of files and text from
// other hosts.
func (e *exitError) complain(w io.Writer) {
	if e.err == nil {
		return
	}
	for line := range strings.Lines(e.err.Error()) {
		fmt.Fprintf(w, "pmcheck: %s\n", text.Printable(line, maxLine))
	}
	if e.hint != "" {
		fmt.Fprintf(w, "hint: %s\n", text.Printable(e.hint, maxLine))
	}
}

// environ returns the environment of a command.
func environ(c *cli.Context) []string { return c.App.Metadata["environ"].([]string) }

func newApp(environ []string, stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:                 "pmcheck",
		Usage:                "tell a load balancer whether this Puppet Server should get agents",
		Version:              daemon.ProgramVersion(),
		Metadata:             map[string]any{"environ": environ},
		Reader:               stdin,
		Writer:               stdout,
		ErrWriter:            stderr,
		Suggest:              true,
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
				hint := cli.SuggestCommand(c.App.VisibleCommands(), name)
				return &exitError{exitUsage, fmt.Errorf("unknown command %q", name), hint}
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, command := range app.Commands {
		prepare(command)
	}
	return app
}

// prepare gives a command what it does not inherit.
func prepare(command *cli.Command) {
	command.OnUsageError = onUsageError
	for _, f := range command.Flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true // no "(default: false)"
		}
	}
	if command.ArgsUsage == "" {
		command.Action = strict(command.Action)
	}
}

// strict refuses arguments. urfave/cli stops parsing flags at the first one: "drain now --reason x" would
// drain without the reason.
func strict(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		if c.NArg() > 0 {
			return misused(c, fmt.Errorf("%s takes no argument %q", c.Command.HelpName, c.Args().First()))
		}
		return action(c)
	}
}

// misused returns the error of a command that is not used as its help says.
func misused(c *cli.Context, err error) error {
	return &exitError{exitUsage, err, c.Command.HelpName + " --help shows the usage"}
}

// onUsageError returns the error for a mistake in the flags, which urfave/cli would print on stdout.
func onUsageError(c *cli.Context, err error, _ bool) error {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	switch near := cli.SuggestFlag(c.Command.Flags, name, false); {
	case unknown && c.Command.Name == c.App.Name:
		return &exitError{exitUsage, err, "flags come after the command"}
	case unknown && name != "host" && near != "": // drain --hold m2 would drain this host
		return &exitError{exitUsage, err, "did you mean " + near + "?"}
	}
	return misused(c, err)
}

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
