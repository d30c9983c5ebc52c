package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/prometheus/common/version"
	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/drain"
)

// Rules of the terminal: what was asked for goes to stdout, everything else
// to stderr. An error is one line, "pmcheck: " and what is wrong, in lower
// case without a full stop; "hint: " lines that name the fix may follow.

// Exit statuses besides those of single commands.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // of the command line or the configuration

	exitHeld      = 3 // status: held out of service
	exitUnhealthy = 4 // status: not held, but not healthy
	exitNoDaemon  = 5 // status: the daemon does not answer
	exitTimeout   = 6 // wait, --wait: not within the time
	exitRefused   = 7 // drain, maint: a balancer would have no server left
)

// exitError carries an exit status up to Run.
type exitError struct {
	status int
	err    error // nil if everything has been said
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// hinted is an error with advice for the person at the terminal.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// Run is pmcheck as a function of its surroundings. It returns the exit
// status.
func Run(args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	app := newApp(environ, stdin, stdout, stderr)
	app.Metadata = map[string]any{typedArgs: args[1:]}
	err := app.RunContext(ctx, args)
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if exit.err != nil {
			complain(stderr, exit.err)
		}
		return exit.status
	}
	complain(stderr, err)
	return exitFailure
}

// complain prints an error and its hints.
func complain(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w, "pmcheck: %s\n", strings.TrimRight(line, "\n"))
	}
	var h *hinted
	if errors.As(err, &h) {
		fmt.Fprintf(w, "hint: %s\n", h.hint)
	}
}

func newApp(environ []string, stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	app := &cli.App{
		Name:           "pmcheck",
		Usage:          "tell a load balancer whether this host's Puppet Server is fit",
		Reader:         stdin,
		Writer:         stdout,
		ErrWriter:      stderr,
		HideVersion:    true,
		ExitErrHandler: func(*cli.Context, error) {}, // Run decides
		OnUsageError:   onUsageError,
		Commands: []*cli.Command{
			serveCommand(environ),
			statusCommand(environ),
			holdCommand(environ, drain.Drain, "take no new agents, finish those under way"),
			holdCommand(environ, drain.Maint, "take no agents at all"),
			readyCommand(environ),
			waitCommand(environ),
			haproxyCommand(environ),
			checkCommand(environ),
			configCommand(environ),
			demoCommand(),
			completionCommand(environ),
			versionCommand(),
			guardCommand(environ),
			inUseCommand(environ),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return unknownCommand(c, c.Args().First())
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, command := range app.Commands {
		command.OnUsageError = onUsageError // not inherited
		if command.ArgsUsage == "" {
			command.Action = strict(command.Action)
		}
	}
	return app
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version",
		Action: func(c *cli.Context) error {
			fmt.Fprintln(c.App.Writer, "pmcheck", versionString())
			return nil
		},
	}
}

// versionString is the version that was linked in, or what the Go toolchain
// knows of the source.
func versionString() string {
	if version.Version != "" {
		return version.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
