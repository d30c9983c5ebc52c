package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func waitCommand() *cli.Command {
	return &cli.Command{
		Name:  "wait",
		Usage: "block until balancers are told to use this master, or not to",
		Description: "Exit status: 0 reached, 6 not reached in time.\n" +
			"Example: pmcheck wait --for ready --timeout 10m",
		Flags: []cli.Flag{
			configFlag(),
			serviceFlag("wait for `SERVICE` instead of the master itself"),
			&cli.StringFlag{Name: "for", Usage: "`WHAT`: ready (balancers are told 200) or out (they are not)"},
			durationFlag("timeout", "5m", "give up after `DURATION`"),
		},
		Action: wait,
	}
}

func wait(c *cli.Context) error {
	goal := c.String("for")
	if goal != "ready" && goal != "out" {
		return misused(c, errors.New("pmcheck wait needs --for=ready or --for=out"))
	}

	h := hostOf(c)
	limit := durationOf(c, "timeout")
	ctx, cancel := context.WithTimeout(c.Context, limit)
	defer cancel()

	for {
		st, err := h.follow(ctx)
		interrupted := c.Context.Err()
		if interrupted != nil {
			return interrupted
		}
		if ctx.Err() != nil {
			last := cmp.Or(h.progress.Last, "no answer")
			return &exitError{status: exitTimeout, err: fmt.Errorf("not %s within %s: %s", goal, limit, last)}
		}
		if err != nil {
			h.progress.Say(err.Error()) // the daemon may come back
			continue
		}

		v, err := st.Service(serviceOf(c).Shown())
		if err != nil {
			return err
		}
		state := "/" + string(v.Name) + " is " + v.State()
		if v.InService() == (goal == "ready") {
			h.progress.Done(state)
			return nil
		}
		h.progress.Say(state + inTheWay(v, goal))
	}
}

// inTheWay returns what keeps a service that leaves from being out, as the end of a line.
func inTheWay(v status.ServiceStatus, goal string) string {
	isLeaving := v.Mode != drain.Ready && goal == "out"
	if !isLeaving {
		return ""
	}
	return ": " + blocker.Summary(v.Departure.Blockers)
}
