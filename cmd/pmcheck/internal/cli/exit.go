package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // a mistake in the command line or the configuration

	exitHeld        = 3   // status: held out of service
	exitUnhealthy   = 4   // status: not held, but not healthy
	exitNoDaemon    = 5   // status: the daemon does not answer
	exitTimeout     = 6   // wait, --wait: not reached in time
	exitRefused     = 7   // drain, maint: a balancer would have no server left, or the budget is used up or not known
	exitInterrupted = 130 // by a signal, while it waited
)

const maxLine = 4000

type exitError struct {
	status int
	err    error  // nil if there is nothing more to print
	hint   string // advice for the person at the terminal; may be empty
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

func (e *exitError) Unwrap() error { return e.err }

// usageError returns the error for a mistake in the command line.
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

// explain returns the exit status of an error, and what the person at the terminal can do.
func explain(err error) *exitError {
	if known, is := errors.AsType[*exitError](err); is {
		return known
	}
	if left, is := errors.AsType[*leave.Error](err); is {
		return explainLeft(left, err)
	}
	if errors.Is(err, leave.ErrNotBack) {
		return &exitError{status: exitTimeout, err: err}
	}
	if errors.Is(err, budget.ErrUnreachable) {
		mend := cmp.Or(budget.Hint(err), "mend it")
		return &exitError{status: exitRefused, err: err, hint: mend + ", or insist with --force"}
	}
	if errors.Is(err, status.ErrNoService) {
		const hint = "set services in the configuration (for puppetdb: puppetdb.address), then systemctl reload pmcheck"
		return &exitError{status: exitUsage, err: err, hint: hint}
	}

	// urfave/cli has one error of its own: "pmcheck help" names a command that does not exist.
	_, isMistake := errors.AsType[mistake.Mistake](err)
	if isMistake || errors.As(err, new(cli.ExitCoder)) {
		return &exitError{status: exitUsage, err: err}
	}

	if errors.Is(err, client.ErrNoDaemon) {
		return &exitError{status: exitNoDaemon, err: err}
	}
	if errors.Is(err, context.Canceled) {
		return &exitError{status: exitInterrupted, err: err}
	}
	return &exitError{status: exitFailure, err: err, hint: fileHint(err)}
}

// explainLeft explains why a master has not left as asked. err wraps left, and may say more.
func explainLeft(left *leave.Error, err error) *exitError {
	e := &exitError{status: exitRefused, err: err}
	switch left.Kind {
	case leave.NotIdle:
		e.status = exitTimeout
	case leave.Silent:
		e.hint = "systemctl restart pmcheck, or insist with --force"
	case leave.Gone:
		e.hint = "pmcheck status shows the holds; if the master is to leave all the same, run the command again"
	default:
		e.hint = "wait longer with --timeout, or insist with --force"
		if isOnlyServer(left.Left) {
			e.hint = "bring another master up first, or insist with --force; if only another service is in the way, " +
				"--service server"
		}
	}
	return e
}

func isOnlyServer(left []status.Blocker) bool {
	return slices.ContainsFunc(left, func(o status.Blocker) bool { return o.Kind == blocker.OnlyServer })
}

// fileHint returns what helps against an error of a file; empty if nothing is known to.
func fileHint(err error) string {
	file, is := errors.AsType[*fs.PathError](err)
	if errors.Is(err, fs.ErrPermission) {
		if is && file.Op == "open" { // a command that only reads does so as the user pmcheck, even with sudo
			return "use sudo; if it is not enough, let the user pmcheck read " + file.Path
		}
		return "use sudo"
	}
	if !is {
		return ""
	}
	if file.Path == os.Stdout.Name() {
		return ""
	}
	if file.Op == "create" && errors.Is(file, fs.ErrNotExist) {
		return "is pmcheck installed on this host?"
	}
	if errors.Is(file, drain.ErrHangs) {
		return "mend its file system; drain --until-reboot writes elsewhere"
	}
	for _, full := range []error{syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(file, full) {
			return "make the directory writable; drain --until-reboot writes elsewhere"
		}
	}
	return ""
}

// complain prints the error and its hint. Both may quote names of files and text from
// other hosts.
func (e *exitError) complain(w io.Writer) {
	if e.err == nil {
		return
	}
	said := strings.ReplaceAll(e.err.Error(), context.Canceled.Error(), "interrupted")
	for line := range strings.Lines(said) {
		fmt.Fprintf(w, "pmcheck: %s\n", text.Printable(line, maxLine))
	}
	if e.hint != "" {
		fmt.Fprintf(w, "hint: %s\n", text.Printable(e.hint, maxLine))
	}
}
