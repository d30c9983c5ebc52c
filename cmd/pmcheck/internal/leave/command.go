package leave

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// Exit statuses of a command that could not be run, as in a shell.
const (
	NotExecutable = 126
	NotFound      = 127
	bySignal      = 128 // plus the number of the signal that ended it
)

// Find returns an error, and the exit status for it, if a program does not exist or cannot
// be run: a host must not be drained for a misspelt command.
func Find(program string) (status int, err error) {
	_, err = exec.LookPath(program)
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

// Run runs a command to its end and returns its exit status, or 128 plus the number of
// the signal that ended it. Meanwhile it passes on the signals that arrive in caught, and
// calls renew at the given interval. A terminal sends SIGINT and SIGQUIT to the command itself, which must not get
// them twice: apt and others take a second interrupt for "at once".
func Run(cmd *exec.Cmd, caught <-chan os.Signal, every time.Duration, renew func()) (status int, err error) {
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
				return NotExecutable, fmt.Errorf("%s: %w", cmd.Args[0], err)
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
