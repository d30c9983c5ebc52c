// Package cli is pmcheck's command line: one file for each command. It is the
// only package that decides where output goes.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
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

// Run runs pmcheck with these arguments, environment and streams, and returns the exit
// status. args[0] is the name of the program.
func Run(args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if unsafeToComplete(args) {
		return exitOK
	}
	app := newApp(environ, stdin, stdout, stderr)
	err := app.RunContext(ctx, args)
	if err == nil {
		return exitOK
	}
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case ok:
	case errors.As(err, new(cli.ExitCoder)): // of "pmcheck help" for a command that does not exist
		exit = &exitError{status: exitUsage, err: err}
	case errors.Is(err, context.Canceled):
		exit = &exitError{exitInterrupted, errors.New(strings.ReplaceAll(err.Error(), "context canceled", "interrupted")), ""}
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

// statusOnly returns the error with which a command ends that has printed everything.
func statusOnly(status int) error {
	if status == exitOK {
		return nil
	}
	return &exitError{status: status}
}

// output prints v as JSON with --json, and calls write without it. It returns the error
// with which the command ends.
func output(c *cli.Context, v any, write func(io.Writer), exit int) error {
	w := bufio.NewWriter(c.App.Writer) // keeps the first error
	if !c.Bool("json") {
		write(w)
	} else if err := text.WriteJSON(w, v); err != nil {
		return err
	}
	return cmp.Or(w.Flush(), statusOnly(exit))
}

func newApp(environ []string, stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:           "pmcheck",
		Usage:          "tell a load balancer whether this Puppet Server should get agents",
		Reader:         stdin,
		Writer:         stdout,
		ErrWriter:      stderr,
		HideVersion:    true,
		Suggest:        true,                         // of help for a command
		ExitErrHandler: func(*cli.Context, error) {}, // Run handles errors
		OnUsageError:   onUsageError,

		EnableBashCompletion: true,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "version", Usage: "print the version", DisableDefaultText: true},
		},
		Before: func(c *cli.Context) error {
			if c.Bool("version") && c.NArg() > 0 {
				return usageError("--version takes no command")
			}
			return nil
		},
		Commands: []*cli.Command{
			serveCommand(environ),
			statusCommand(environ),
			holdCommand(environ, drain.Drain, "take no new agents, finish those under way"),
			holdCommand(environ, drain.Maint, "take no agents at all"),
			readyCommand(environ),
			waitCommand(environ),
			withHoldCommand(environ),
			budgetCommand(environ),
			checkCommand(environ),
			configCommand(environ),
			demoCommand(),
			completionCommand(),
			versionCommand(),
			guardCommand(environ),
			gateCommand(environ),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return unknownCommand(c, c.Args().First())
			}
			if c.Bool("version") {
				return printVersion(c)
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, command := range app.Commands {
		command.OnUsageError = onUsageError // not inherited
		hideFalse(command.Flags)
		for _, sub := range command.Subcommands {
			sub.OnUsageError = onUsageError
			hideFalse(sub.Flags)
		}
		if command.ArgsUsage == "" {
			command.Action = strict(command.Action)
		}
	}
	return app
}

// hideFalse removes "(default: false)" from the help.
func hideFalse(flags []cli.Flag) {
	for _, f := range flags {
		if b, ok := f.(*cli.BoolFlag); ok {
			b.DisableDefaultText = true
		}
	}
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:   "version",
		Usage:  "print the version",
		Flags:  []cli.Flag{jsonFlag()},
		Action: printVersion,
	}
}

func printVersion(c *cli.Context) error {
	v := struct {
		Version string `json:"version"`
		Go      string `json:"go"`
	}{daemon.ProgramVersion(), runtime.Version()}
	return output(c, v, func(w io.Writer) { fmt.Fprintln(w, "pmcheck", v.Version) }, exitOK)
}
