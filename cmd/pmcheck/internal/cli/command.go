package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// Exit statuses of with-hold, as of a shell.
const (
	notRun   = 127 // the command cannot be run
	bySignal = 128 // plus the number of the signal that ended it
)

// catchSignals catches the signals that would end this process without lifting the hold. The caller must call stop.
func catchSignals() (caught <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGPIPE)
	return c, func() { signal.Stop(c) }
}

// runCommand runs a command to its end and returns its exit status. It passes on the signals that arrive in caught, and
// calls renew at the given interval. A terminal sends SIGINT and SIGQUIT to the command itself,
// which must not get them twice: apt and others take a second interrupt for "at once".
func runCommand(cmd *exec.Cmd, caught <-chan os.Signal, every time.Duration, renew func()) (status int, err error) {
	if err := cmd.Start(); err != nil {
		return notRun, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	renewal := time.NewTicker(every)
	defer renewal.Stop()
	for {
		select {
		case err := <-ended:
			if cmd.ProcessState == nil {
				return notRun, err
			}
			if w := cmd.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() {
				return bySignal + int(w.Signal()), nil
			}
			return cmd.ProcessState.ExitCode(), nil
		case s := <-caught:
			if !slices.Contains([]os.Signal{syscall.SIGPIPE, syscall.SIGINT, syscall.SIGQUIT}, s) {
				_ = cmd.Process.Signal(s) // it may have ended
			}
		case <-renewal.C:
			renew()
		}
	}
}
