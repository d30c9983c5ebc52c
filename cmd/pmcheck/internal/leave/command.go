package leave

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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

// Signals catches the signals that Run passes on, and those that would end this process
// without lifting the hold. The caller must call stop.
func Signals() (caught <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, append(passedOn(), syscall.SIGPIPE)...)
	return c, func() { signal.Stop(c) }
}

// passedOn returns the signals that the command gets too.
func passedOn() []os.Signal {
	return []os.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
	}
}

// Run runs the command to its end and returns its exit status, or 128 plus the number of
// the signal that ended it. Meanwhile it passes on the signals that arrive in caught, and
// calls renew at the given interval.
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
			if s != syscall.SIGPIPE && !typed(s) {
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

// typed reports whether a signal was probably typed at the terminal of this process. The
// terminal sends it to the command as well, which must not get it twice: apt and others
// take a second interrupt for "at once".
func typed(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
