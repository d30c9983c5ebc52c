package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/drain"
)

// heldOn is how long the hold of a with-hold that was killed lasts.
const heldOn = 10 * time.Minute

func withHoldCommand() *cli.Command {
	return &cli.Command{
		Name:      "with-hold",
		Usage:     "drain, run a command, and put the master back",
		ArgsUsage: "-- COMMAND [ARGUMENT...]",
		Description: "Sets a hold, waits until the master is idle, runs the command, lifts the hold, and waits\n" +
			"until the master is back in service. The hold is lifted however the command ends. Signals are\n" +
			"passed on to the command. If with-hold itself is killed, the hold ends within ten minutes.\n" +
			"Exit status: that of the command; 7 and 6 as drain, without running it; 6 also if the master is not\n" +
			"in service in time.\n" +
			"Example: pmcheck with-hold -- systemctl restart puppetserver",
		Flags: requestFlags("with-hold", "15m",
			durationFlag("return", "10m", "wait for `DURATION` until the master is back in service"),
			&cli.BoolFlag{Name: "keep", Usage: "keep the hold, without an end, if the command fails"},
		),
		Action: withHold,
	}
}

func withHold(c *cli.Context) error {
	if c.NArg() == 0 {
		return misused(c, errors.New("pmcheck with-hold needs a command"))
	}
	work := exec.Command(c.Args().First(), c.Args().Tail()...)
	work.Stdin, work.Stdout, work.Stderr = c.App.Reader, c.App.Writer, c.App.ErrWriter
	c.App.Writer = c.App.ErrWriter // stdout is the command's
	line := text.Printable(strings.Join(work.Args, " "), 200)
	if _, err := exec.LookPath(work.Args[0]); err != nil { // a host must not be drained for a misspelt command
		return &exitError{status: notRun, err: err}
	}
	defer endWithTerminal(c)() // before catchSignals, after which nothing is ignored
	caught, stop := catchSignals()
	defer stop()
	r := requestOf(c, drain.Drain)
	r.New, r.Idle = true, true
	r.For = heldOn
	r.Hold.Reason = cmp.Or(r.Hold.Reason, line)
	host := hostOf(c)
	set, err := host.takeOut(c, r)
	endAt := func(end time.Time) (err error) {
		set, err = host.Amend(set, func(h *drain.Hold) { h.Until = end })
		return err
	}
	if err != nil {
		host.Note("not run: " + line)
		return errors.Join(err, host.takeBack(set))
	}
	status, err := runCommand(work, caught, heldOn/3, func() {
		if err := endAt(time.Now().Add(heldOn)); err != nil {
			host.Note("not renewed: " + err.Error())
		}
	})
	switch {
	case status == exitOK && c.Context.Err() == nil:
		if err := host.takeBack(set); err != nil {
			return err
		}
		return host.comeBack(c.Context, r.Hold.Service, durationOf(c, "return"))
	case status != exitOK && c.Bool("keep"):
		failed := fmt.Errorf("exit status %d: the hold stays", status)
		return &exitError{status, cmp.Or(err, errors.Join(failed, endAt(time.Time{}))),
			"when the cause is mended: pmcheck ready --hold " + r.Hold.Holder}
	}
	return &exitError{status: status, err: errors.Join(err, host.takeBack(set))}
}

func (h *host) takeBack(set drain.Hold) error {
	if set.Mode == "" {
		return nil
	}
	err := h.Lift(set)
	if err != nil {
		h.Note("not lifted, it ends by itself")
	}
	return err
}

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
