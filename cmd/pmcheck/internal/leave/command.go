package leave

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// Exit statuses of a command that could not be run, as in a shell.
const (
	NotExecutable = 126
	NotFound      = 127
	bySignal      = 128 // plus the number of the signal that ended it
)

// Command is a command to run. Streams that are files are handed over as they are.
type Command struct {
	Args   []string // at least the program
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
}

// String returns the command on one line, made printable and cut to 200 characters.
func (c Command) String() string { return text.Printable(strings.Join(c.Args, " "), 200) }

// Find returns an error, and the exit status for it, if the program does not exist or cannot
// be run: a host must not be drained for a misspelt command.
func (c Command) Find() (status int, err error) {
	_, err = exec.LookPath(c.Args[0])
	switch {
	case err == nil:
		return 0, nil
	case errors.Is(err, fs.ErrPermission):
		return NotExecutable, err
	}
	return NotFound, err
}

// Signals catches the signals that would end this process without lifting the hold. The caller must call stop.
func Signals() (caught <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGPIPE)
	return c, func() { signal.Stop(c) }
}

// Run runs the command to its end and returns its exit status, or 128 plus the number of
// the signal that ended it. Meanwhile it passes on the signals that arrive in caught, and
// calls renew at the given interval. A terminal sends SIGINT and SIGQUIT to the command itself, which must not get
// them twice: apt and others take a second interrupt for "at once".
func (c Command) Run(caught <-chan os.Signal, every time.Duration, renew func()) (status int, err error) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	if err := cmd.Start(); err != nil {
		return NotExecutable, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	renewal := time.NewTicker(every)
	defer renewal.Stop()
	for {
		select {
		case err := <-ended:
			if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
				return NotExecutable, fmt.Errorf("%s: %w", c.Args[0], err)
			}
			return exitStatus(cmd.ProcessState.Sys().(syscall.WaitStatus)), nil
		case s := <-caught:
			if !slices.Contains([]os.Signal{syscall.SIGPIPE, syscall.SIGINT, syscall.SIGQUIT}, s) {
				_ = cmd.Process.Signal(s) // it may have ended
			}
		case <-renewal.C:
			renew()
		}
	}
}

func exitStatus(w syscall.WaitStatus) int {
	if w.Signaled() {
		return bySignal + int(w.Signal())
	}
	return w.ExitStatus()
}
