package cli

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func holdCommand(environ []string, mode drain.Mode, usage string) *cli.Command {
	return &cli.Command{
		Name:  string(mode),
		Usage: usage,
		Description: "Sets a hold: the wish of one party, kept until that party lifts it with pmcheck ready.\n" +
			"Returns when every balancer has the master out; a balancer that needs it keeps it until then.\n" +
			"Set again, a hold keeps its reason and end unless they are given.\n" +
			"Exit status: 0 out, 1 not set, 2 usage, 6 held but not idle within the time of --wait,\n" +
			"7 refused: a balancer would have no server left, as many masters are out as may be, or the\n" +
			"database of the budget does not answer; or not out in time, and the hold was lifted.\n" +
			"Example: pmcheck " + string(mode) + " --wait --reason 'new kernel'",
		Flags: []cli.Flag{
			configFlag(),
			holderFlag(),
			serviceFlag("hold `SERVICE` only, for example ca"),
			&cli.StringFlag{Name: "reason", Aliases: []string{"r"}, Usage: "say why, in `WORDS` that are shown with the hold"},
			durationFlag("for", 0, "end by itself after `DURATION`, for example 30m"),
			&cli.StringFlag{Name: "until", Usage: "end by itself at `TIME`: 15:04, \"2006-01-02 15:04\", RFC 3339, or never"},
			&cli.BoolFlag{Name: "until-reboot", Usage: "end with the next reboot"},
			waitFlag("return when the master is idle, or after that time"),
			&cli.BoolFlag{Name: "now", Usage: "tell every balancer at once, and wait for none"},
			&cli.BoolFlag{Name: "force", Usage: "even if a balancer would have no server left, or the budget refuses"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only say what would be refused or waited for"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error { return hold(c, environ, mode) },
	}
}

func holderFlag() cli.Flag {
	const usage = "act as `HOLDER`: holders do not touch each other's holds"
	return &cli.StringFlag{Name: "hold", Value: drain.Operator, Usage: usage}
}

func serviceFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "service", Usage: usage}
}

func hold(c *cli.Context, environ []string, mode drain.Mode) error {
	if err := checkNames(c); err != nil {
		return err
	}
	wish, tomorrow, err := wishOf(c, mode, time.Now())
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return mayLeave(c, environ, mode)
	}
	_, err = takeOut(c, environ, wish, tomorrow)
	return err
}

// mayLeave answers whether the master may leave now, by the rule that the daemon applies to each check.
func mayLeave(c *cli.Context, environ []string, mode drain.Mode) error {
	w, _, _ := worldOf(c, environ)
	st, err := w.Next(c.Context)
	if err == nil && c.IsSet("service") {
		_, err = st.ServiceOrError(c.String("service"))
	}
	if errors.Is(err, status.ErrNoService) {
		return noService(err)
	}
	if err != nil {
		return &exitError{status: exitNoDaemon, err: err}
	}
	obstacles := w.Keeps(c.Context, st, c.String("service"), mode)
	exit := exitOK
	if len(obstacles) > 0 {
		exit = exitRefused
	}
	return output(c, obstacles, func(w io.Writer) {
		if len(obstacles) == 0 {
			fmt.Fprintln(w, "may leave now")
		}
		for _, o := range obstacles {
			fmt.Fprintln(w, o.Text)
		}
	}, exit)
}

func checkNames(c *cli.Context) error {
	if err := drain.CheckName(c.String("hold")); err != nil {
		return usageError("--hold: %w", err)
	}
	if c.IsSet("service") {
		if err := drain.CheckName(c.String("service")); err != nil {
			return usageError("--service: %w", err)
		}
	}
	return nil
}

// wishOf reads from the flags which hold is to be set. Tomorrow tells that its end is
// a time of day that has passed today.
func wishOf(c *cli.Context, mode drain.Mode, now time.Time) (w leave.Request, tomorrow bool, err error) {
	w.Hold = drain.Hold{
		Holder:      c.String("hold"),
		Service:     c.String("service"),
		Mode:        mode,
		Reason:      c.String("reason"),
		UntilReboot: c.Bool("until-reboot"),
	}
	w.Endless = c.String("until") == "never"
	length := durationOf(c, "for")
	switch {
	case c.IsSet("for") && c.IsSet("until"):
		return w, false, usageError("--for and --until cannot be combined")
	case c.IsSet("for") && length <= 0:
		return w, false, usageError("--for must be above 0, not %s", length)
	case c.IsSet("for"):
		w.Hold.Until = now.Add(length)
	case c.IsSet("until") && !w.Endless:
		if w.Hold.Until, tomorrow, err = parseUntil(c.String("until"), now); err != nil {
			return w, false, usageError("--until: %w", err)
		}
	}
	return w, tomorrow, nil
}

// writeHint adds what the caller can do about a hold that was not written.
func writeHint(err error) error {
	if hint := show.WriteHint(err); hint != "" {
		return &exitError{exitFailure, err, hint}
	}
	return err
}

// setHint is writeHint for a hold to be set. One that is not with-hold's may fit into the other directory.
func setHint(wish leave.Request, err error) error {
	err = writeHint(err)
	elsewhere := !wish.Hold.UntilReboot && !wish.New && (errors.Is(err, syscall.EROFS) ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
	if exit, ok := errors.AsType[*exitError](err); ok && elsewhere {
		exit.hint += "; --until-reboot writes it to the other directory"
	}
	return err
}
