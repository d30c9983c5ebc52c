package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func holdCommand(mode drain.Mode, usage string) *cli.Command {
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
		Action: func(c *cli.Context) error {
			h, err := holdOf(c, mode, time.Now())
			switch {
			case err != nil:
				return err
			case c.Bool("dry-run"):
				return mayLeave(c, h)
			}
			r := leave.Request{Hold: h, Endless: c.String("until") == never}
			r.Idle, r.Wait = waitOf(c)
			_, err = takeOut(c, hostOf(c), r)
			return err
		},
	}
}

// never is the value of --until that removes an end.
const never = "never"

// holdOf reads from the flags which hold is to be set.
func holdOf(c *cli.Context, mode drain.Mode, now time.Time) (h drain.Hold, err error) {
	if err := checkNames(c); err != nil {
		return h, err
	}
	h = drain.Hold{
		Holder:      c.String("hold"),
		Service:     c.String("service"),
		Mode:        mode,
		Reason:      c.String("reason"),
		UntilReboot: c.Bool("until-reboot"),
	}
	length, err := durationOf(c, "for")
	switch {
	case err != nil:
		return h, err
	case c.IsSet("for") && c.IsSet("until"):
		return h, usageError("--for and --until cannot be combined")
	case c.IsSet("for"):
		h.Until = now.Add(length)
	case c.IsSet("until") && c.String("until") != never:
		if h.Until, err = parseUntil(c.String("until"), now); err != nil {
			return h, usageError("--until: %w", err)
		}
	}
	return h, nil
}

// parseUntil reads when a hold ends, as people write it: in the zone of now, or with a zone as in RFC 3339. A
// time of day is the next one, today or tomorrow.
func parseUntil(s string, now time.Time) (until time.Time, err error) {
	if clock, err := time.Parse("15:04", s); err == nil {
		year, month, day := now.Date()
		until := time.Date(year, month, day, clock.Hour(), clock.Minute(), 0, 0, now.Location())
		if !until.After(now) {
			until = time.Date(year, month, day+1, clock.Hour(), clock.Minute(), 0, 0, now.Location())
		}
		return until, nil
	}
	if until, err = time.ParseInLocation("2006-01-02 15:04", s, now.Location()); err != nil {
		until, err = time.Parse(time.RFC3339, s)
	}
	switch {
	case err != nil:
		return until, fmt.Errorf("cannot parse time %q: write 15:04, \"2006-01-02 15:04\" or RFC 3339", s)
	case !until.After(now):
		return until, fmt.Errorf("%s is in the past", until.Format(time.RFC3339))
	}
	return until, nil
}

// mayLeave answers whether the master may leave now, by the rule that the daemon applies to each check.
func mayLeave(c *cli.Context, h drain.Hold) error {
	w := hostOf(c)
	st, err := w.Next(c.Context)
	if err == nil && h.Service != "" {
		_, err = st.ServiceOrError(h.Service)
	}
	switch {
	case errors.Is(err, status.ErrNoService):
		return noService(err)
	case err != nil:
		return &exitError{status: exitNoDaemon, err: err}
	}
	obstacles := w.Keeps(c.Context, st, h.Service, h.Mode)
	for _, o := range obstacles {
		fmt.Fprintln(c.App.Writer, o.Text)
	}
	if len(obstacles) > 0 {
		return statusOnly(exitRefused)
	}
	_, err = fmt.Fprintln(c.App.Writer, "may leave now")
	return err
}

// writeHint adds what the caller can do about a hold that was not written.
func writeHint(err error) error {
	if hint := show.WriteHint(err); hint != "" {
		return &exitError{exitFailure, err, hint}
	}
	return err
}
