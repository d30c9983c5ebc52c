package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/drain"
)

func holdCommand(mode drain.Mode, usage string) *cli.Command {
	return &cli.Command{
		Name:  string(mode),
		Usage: usage,
		Description: "Sets a hold: the wish of one party, kept until that party lifts it with pmcheck ready.\n" +
			"Returns when every balancer has the master out; a balancer that needs it keeps it until then.\n" +
			"If that takes too long, the hold is lifted. Set again, a hold keeps its reason and end unless\n" +
			"they are given. Exit status: 0 out, 7 refused or not out in time, 6 held but not idle in time.\n" +
			"Example: pmcheck " + string(mode) + " --wait --reason 'new kernel'",
		Flags: requestFlags(drain.Operator, "5m",
			durationFlag("for", "", "end by itself when the master has been out for `DURATION`, for example 30m"),
			&cli.StringFlag{Name: "until", Usage: "end by itself at `TIME`: 15:04 or \"2006-01-02 15:04\""},
			&cli.BoolFlag{Name: "until-reboot", Usage: "end with the next reboot"},
			&cli.BoolFlag{Name: "wait", Usage: "return when the last agent has finished, too"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only say what would be refused or waited for"},
		),
		Action: func(c *cli.Context) error { return setHold(c, mode) },
	}
}

func setHold(c *cli.Context, mode drain.Mode) error {
	r := requestOf(c, mode)
	r.Idle = c.Bool("wait")
	r.For = durationOf(c, "for")
	r.Hold.UntilReboot = c.Bool("until-reboot")
	if c.IsSet("until") {
		if c.IsSet("for") {
			return usageError("--for and --until cannot be combined")
		}
		end, err := parseUntil(c.String("until"), time.Now())
		if err != nil {
			return usageError("--until: %w", err)
		}
		r.Hold.Until = end
	}
	if c.Bool("dry-run") {
		return mayLeave(c, r.Hold)
	}

	stop := endWithTerminal(c)
	defer stop()
	_, err := hostOf(c).takeOut(c, r)
	return err
}

// parseUntil reads when a hold ends, in the zone of now. A time of day is the next one, today or tomorrow.
func parseUntil(s string, now time.Time) (time.Time, error) {
	const layout = "2006-01-02 15:04"

	today := now.Format(time.DateOnly)
	if until, err := time.ParseInLocation(layout, today+" "+s, now.Location()); err == nil {
		if until.After(now) {
			return until, nil
		}
		return until.AddDate(0, 0, 1), nil
	}

	until, err := time.ParseInLocation(layout, s, now.Location())
	if err != nil {
		return until, fmt.Errorf("cannot parse time %q: write 15:04 or %q", s, layout)
	}
	if !until.After(now) {
		return until, fmt.Errorf("%s is in the past", s)
	}
	return until, nil
}

// mayLeave answers whether the master may leave now, by the rule that the daemon applies to each check.
func mayLeave(c *cli.Context, hold drain.Hold) error {
	h := hostOf(c)
	st, err := h.status(c.Context)
	if err != nil {
		return err
	}
	if _, err := st.Service(hold.Service); hold.Service != drain.EveryService && err != nil {
		return err
	}

	blockers := h.world.Keeps(c.Context, st, hold.Service, hold.Mode)
	for _, line := range blocker.Texts(blockers, len(blockers)) {
		fmt.Fprintln(c.App.Writer, line)
	}
	if len(blockers) > 0 {
		return statusOnly(exitRefused)
	}
	_, err = fmt.Fprintln(c.App.Writer, "may leave now")
	return err
}
