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

const maxLine = 4000

type exitError struct {
	status int
	err    error  // nil if there is nothing more to print
	hint   string // advice for the person at the terminal; may be empty
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

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

func explain(err error) *exitError {
	if known, is := errors.AsType[*exitError](err); is {
		return known
	}
	_, mistaken := errors.AsType[config.Fault](err)
	left, stays := errors.AsType[*leave.Error](err)
	last := stays && slices.ContainsFunc(left.Left, func(o status.Obstacle) bool {
		return o.Kind == balancer.ObstacleLast
	})
	mend := cmp.Or(budget.Hint(err), "mend it")
	file, is := errors.AsType[*fs.PathError](err)
	full := is && file.Path != os.Stdout.Name() &&
		(errors.Is(file, syscall.EROFS) || errors.Is(file, syscall.ENOSPC) || errors.Is(file, syscall.EDQUOT))
	for _, row := range []struct {
		is     bool
		status int
		hint   string
	}{
		{stays && left.Kind == leave.NotIdle || errors.Is(err, leave.ErrNotBack), exitTimeout, ""},
		// It may be the hold of a with-hold whose command still runs.
		{stays && left.Kind == leave.Taken, exitRefused, "wait until that work is done, or use another holder: --hold"},
		{stays && left.Kind == leave.Silent, exitRefused, "systemctl restart pmcheck, or insist with --force"},
		{last, exitRefused, "bring another master up first, hold catalogs only (--service server), or insist with --force"},
		{stays, exitRefused, "wait longer with --timeout 20m, or insist with --force"},
		{errors.Is(err, budget.ErrUnreachable), exitRefused, mend + ", or insist with --force"},
		{errors.Is(err, status.ErrNoService), exitUsage, "set services in the configuration, then systemctl reload pmcheck"},
		// urfave/cli's own is that of "pmcheck help" for a command that does not exist.
		{mistaken || errors.As(err, new(cli.ExitCoder)), exitUsage, ""},
		{errors.Is(err, status.ErrNoDaemon), exitNoDaemon, ""},
		{errors.Is(err, context.Canceled), exitInterrupted, ""},
		{errors.Is(err, fs.ErrPermission), exitFailure, "use sudo"},
		{is && file.Op == "create" && errors.Is(file, fs.ErrNotExist), exitFailure, "is pmcheck installed on this host?"},
		{full, exitFailure, "make the directory writable; drain --until-reboot writes elsewhere"},
	} {
		if row.is {
			return &exitError{row.status, err, row.hint}
		}
	}
	return &exitError{status: exitFailure, err: err}
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
