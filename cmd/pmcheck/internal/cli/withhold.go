package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/drain"
)

func withHoldCommand() *cli.Command {
	return &cli.Command{
		Name:      "with-hold",
		Usage:     "drain, run a command, and put the master back",
		ArgsUsage: "-- COMMAND [ARGUMENT...]",
		Description: "Sets a hold, waits until the master is idle, runs the command, lifts the hold, and waits\n" +
			"until the master is back in service. The hold is lifted however the command ends. Signals are\n" +
			"passed on to the command. If with-hold itself is killed, the hold ends by itself.\n" +
			"Exit status: that of the command, 128 and the number of the signal that ended it, 126 or 127 if it\n" +
			"cannot be run; 6 and 7 as drain, without running it; 6 also if the master is not in service in time.\n" +
			"Example: pmcheck with-hold -- systemctl restart puppetserver",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "hold", Value: "with-hold", Usage: "act as `HOLDER`, which must not hold yet"},
			serviceFlag("hold `SERVICE` only, for example ca"),
			&cli.StringFlag{Name: "reason", Aliases: []string{"r"}, Usage: "say why in `WORDS`; by default, the command"},
			durationFlag("for", 10*time.Minute, "let the hold end `DURATION` after with-hold was killed beside the command"),
			durationFlag("wait", 15*time.Minute, "wait for `DURATION` until the master is idle; then give up"),
			durationFlag("return", 10*time.Minute, "wait for `DURATION` until the master is back in service"),
			&cli.BoolFlag{Name: "now", Usage: "tell every balancer at once, and wait for none of them"},
			&cli.BoolFlag{Name: "force", Usage: "even if a balancer would have no server left, or the budget refuses"},
			&cli.BoolFlag{Name: "keep", Usage: "keep the hold, without an end, if the command fails"},
		},
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
	length, badLength := durationOf(c, "for")
	limit, badLimit := durationOf(c, "wait")
	back, badBack := durationOf(c, "return")
	if err := cmp.Or(checkNames(c), badLength, badLimit, badBack); err != nil {
		return err
	}
	if status, err := leave.Find(work.Args[0]); err != nil {
		return &exitError{status: status, err: err}
	}
	caught, stop := leave.Signals()
	defer stop()
	c.Context, stop = signal.NotifyContext(c.Context, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	r := leave.Request{New: true, Idle: true, Wait: limit, Hold: drain.Hold{
		Holder:  c.String("hold"),
		Service: c.String("service"),
		Mode:    drain.Drain,
		Reason:  cmp.Or(c.String("reason"), line),
		Until:   time.Now().Add(limit + length + time.Minute), // of the way out
	}}
	host := hostOf(c)
	set, err := takeOut(c, host, r)
	endAt := func(end time.Time) (err error) {
		set, err = host.Amend(set, func(h *drain.Hold) { h.Until = end })
		return err
	}
	if err == nil { // without a hold that lasts, it must not run
		err = writeHint(endAt(time.Now().Add(length)))
	}
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "not run: %s\n", line)
		lift(c, host, set)
		return err
	}
	status, err := leave.Run(work, caught, max(length/3, 10*time.Millisecond), func() {
		if err := endAt(time.Now().Add(length)); err != nil {
			fmt.Fprintf(c.App.ErrWriter, "not renewed: %v\n", err)
		}
	})
	switch {
	case status == exitOK && c.Context.Err() == nil:
		lifted, err := host.Lift(set)
		if err != nil {
			return writeHint(err)
		}
		return comeBack(c, host, lifted, back)
	case status != exitOK && c.Bool("keep"):
		failed := fmt.Errorf("exit status %d: the hold stays", status)
		return &exitError{status, cmp.Or(err, errors.Join(failed, endAt(time.Time{}))),
			"when the cause is mended: pmcheck ready --hold " + r.Hold.Holder}
	}
	lift(c, host, set)
	return &exitError{status: status, err: err}
}

// lift lifts the hold, if any, of a command that has failed or was not run.
func lift(c *cli.Context, h *host, set drain.Hold) {
	if set.Mode == "" {
		return
	}
	lifted, err := h.Lift(set)
	for _, l := range lifted {
		fmt.Fprintf(c.App.ErrWriter, "lifted: %s\n", show.Hold(l))
	}
	if err != nil {
		fmt.Fprintf(c.App.ErrWriter, "not lifted, ends by itself: %s\n", text.Printable(err.Error(), maxLine))
	}
}
