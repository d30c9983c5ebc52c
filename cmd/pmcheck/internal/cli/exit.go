package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

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

// explain returns the exit status of an error, and what the caller can do about it.
func explain(err error) *exitError {
	known, is := errors.AsType[*exitError](err)
	_, mistaken := errors.AsType[config.Fault](err)
	left, _ := errors.AsType[*leave.Error](err)
	write, _ := errors.AsType[*fs.PathError](err)
	switch {
	case is:
		return known
	case errors.As(err, new(cli.ExitCoder)): // of "pmcheck help" for a command that does not exist
		return &exitError{status: exitUsage, err: err}
	case left != nil:
		return leaveError(left, err)
	case errors.Is(err, leave.ErrNotBack):
		return &exitError{status: exitTimeout, err: err}
	case errors.Is(err, budget.ErrUnreachable):
		return &exitError{exitRefused, err, cmp.Or(budget.Hint(err), "mend it") + ", or insist with --force"}
	case mistaken:
		return &exitError{status: exitUsage, err: err}
	case errors.Is(err, status.ErrNoService):
		return &exitError{exitUsage, err, "set services in the configuration, then systemctl reload pmcheck"}
	case errors.Is(err, status.ErrNoDaemon):
		return &exitError{status: exitNoDaemon, err: err}
	case errors.Is(err, context.Canceled):
		said := strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
		return &exitError{status: exitInterrupted, err: errors.New(said)}
	case write != nil:
		return &exitError{exitFailure, err, writeHint(write)}
	}
	return &exitError{status: exitFailure, err: err}
}

// leaveError returns the exit status of a master that has not left as asked, and what the caller can do.
func leaveError(left *leave.Error, err error) *exitError {
	switch isLast := func(o status.Obstacle) bool { return o.Kind == balancer.ObstacleLast }; {
	case left.Kind == leave.NotIdle:
		return &exitError{status: exitTimeout, err: err}
	case left.Kind == leave.Taken: // it may be that of a with-hold whose command still runs
		return &exitError{exitRefused, err, "wait until that work is done, or act as another holder with --hold"}
	case slices.ContainsFunc(left.Left, isLast):
		return &exitError{exitRefused, err,
			"bring another master up first, hold catalogs only with --service server, or insist with --force"}
	}
	return &exitError{exitRefused, err, "wait longer with --timeout 20m, or insist with --force"}
}

// writeHint says what the caller can do about a hold that was not written.
func writeHint(w *fs.PathError) string {
	switch {
	case errors.Is(w, fs.ErrPermission):
		return "use sudo"
	case errors.Is(w, fs.ErrNotExist) && w.Op == "create":
		return "is pmcheck installed on this host?"
	case errors.Is(w, syscall.EROFS), errors.Is(w, syscall.ENOSPC), errors.Is(w, syscall.EDQUOT):
		return "make " + filepath.Dir(w.Path) + " writable; drain --until-reboot writes elsewhere"
	}
	return ""
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
