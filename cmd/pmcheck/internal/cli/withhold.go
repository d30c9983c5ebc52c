package cli

import (
	"cmp"
	"context"
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
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
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
			"passed on to the command. The hold is renewed until the command ends; if with-hold itself is killed,\n" +
			"it ends within ten minutes.\n" +
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
	work.Stdin = c.App.Reader
	work.Stdout = c.App.Writer
	work.Stderr = c.App.ErrWriter
	c.App.Writer = c.App.ErrWriter // stdout is the command's

	// A host must not be drained for a misspelt command.
	if _, err := exec.LookPath(work.Args[0]); err != nil {
		return &exitError{status: notRun, err: err}
	}

	stop := endWithTerminal(c) // before catchSignals, after which no signal is ignored
	defer stop()
	caught, release := catchSignals()
	defer release()

	line := text.Printable(strings.Join(work.Args, " "), 200)
	r := requestOf(c, drain.Drain)
	r.Idle = true
	r.For = heldOn
	r.Hold.Reason = cmp.Or(r.Hold.Reason, line)
	h := hostOf(c)
	h.forCommand = true
	h.world.Changed = h.printHoldOfCommand
	h.world.Holds = &ownHolds{Holds: h.world.Holds}
	set, err := promptly(c.Context, func() (drain.Hold, error) { return h.takeOut(c, r) })
	if err != nil {
		h.world.Note("not run: " + line)
		return errors.Join(err, h.takeBack(c.Context, set))
	}

	exit, err := runCommand(work, caught, heldOn/3, func() {
		renewed, err := h.endAt(set, time.Now().Add(heldOn))
		if err != nil {
			h.world.Note("not renewed: " + err.Error())
		}
		set = renewed
	})

	hasFailed := exit != exitOK
	interrupted := c.Context.Err() != nil
	if hasFailed && c.Bool("keep") {
		return h.keepHold(set, exit, err)
	}
	if hasFailed || interrupted {
		return &exitError{status: exit, err: errors.Join(err, h.takeBack(c.Context, set))}
	}
	if err := h.takeBack(c.Context, set); err != nil {
		return err
	}
	return h.comeBack(c.Context, r.Hold.Service, durationOf(c, "return"))
}

// ownHolds are holds whose holder must not hold yet: a hold of the same name is another party's, perhaps of a with-hold
// whose command still runs.
type ownHolds struct {
	leave.Holds
	isSet bool // the hold of this command is there
}

// Change implements leave.Holds.
func (o *ownHolds) Change(
	holder string, service drain.Service, next func(old drain.Hold) (drain.Hold, error),
) (drain.Hold, error) {
	set, err := o.Holds.Change(holder, service, func(old drain.Hold) (drain.Hold, error) {
		isTaken := old.Mode != "" && !o.isSet
		if isTaken {
			err := fmt.Errorf("%s holds already: %s", old.Holder, old)
			hint := "wait until that work is done, or use another holder: --hold"
			return old, &exitError{status: exitRefused, err: err, hint: hint}
		}
		return next(old)
	})
	if err == nil {
		o.isSet = set.Mode != ""
	}
	return set, err
}

// printHoldOfCommand prints that a hold was "held" or "lifted". It leaves out the end, which is renewed until the
// command has ended.
func (h *host) printHoldOfCommand(what string, hold drain.Hold) {
	if what == "held" {
		what = "held until the command ends"
	}
	h.print("%s: %s by %s: %s", what, hold.Mode, hold.Holder, hold.Reason)
}

// keepHold lets a hold last without an end after its command has failed. err says why the command could not be run.
func (h *host) keepHold(set drain.Hold, exit int, err error) error {
	_, endErr := h.endAt(set, time.Time{})
	if err == nil {
		err = errors.Join(fmt.Errorf("exit status %d: the hold stays", exit), endErr)
	}
	return &exitError{status: exit, err: err, hint: "when the cause is mended: pmcheck ready --hold " + set.Holder}
}

// endAt changes the end of a hold. It returns the hold as it is now.
func (h *host) endAt(set drain.Hold, end time.Time) (drain.Hold, error) {
	return h.world.Amend(set, func(h *drain.Hold) { h.Until = end })
}

func (h *host) takeBack(ctx context.Context, set drain.Hold) error {
	if set.Mode == "" {
		return nil
	}
	_, err := promptly(ctx, func() (struct{}, error) { return struct{}{}, h.world.Lift(set) })
	if err != nil {
		h.world.Note("not lifted: pmcheck status shows until when it lasts")
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
// calls renew at the given interval. It does not return during such a call.
func runCommand(cmd *exec.Cmd, caught <-chan os.Signal, every time.Duration, renew func()) (exit int, err error) {
	if err := cmd.Start(); err != nil {
		return notRun, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	renewal := time.NewTicker(every)
	defer renewal.Stop()

	// A file system that does not answer must not keep a signal from the command.
	var renewed chan struct{} // nil while renew does not run
	defer func() {
		if renewed != nil {
			<-renewed
		}
	}()

	// A terminal sends these to the command itself. apt and others take a second interrupt for "at once".
	sentByTerminal := []os.Signal{syscall.SIGINT, syscall.SIGQUIT}
	for {
		select {
		case err := <-ended:
			return exitOf(cmd, err)
		case s := <-caught:
			passOn := s != syscall.SIGPIPE && !slices.Contains(sentByTerminal, s)
			if passOn {
				_ = cmd.Process.Signal(s) // the command may have ended
			}
		case <-renewal.C:
			if renewed == nil {
				renewed = make(chan struct{})
				go func() {
					defer close(renewed)
					renew()
				}()
			}
		case <-renewed:
			renewed = nil
		}
	}
}

// exitOf returns the exit status of a command whose Wait has returned err.
func exitOf(cmd *exec.Cmd, err error) (int, error) {
	if cmd.ProcessState == nil {
		return notRun, err
	}
	if w := cmd.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() {
		return bySignal + int(w.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
