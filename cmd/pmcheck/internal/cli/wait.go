package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"
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
	h, limit := hostOf(c), durationOf(c, "timeout")
	ctx, cancel := context.WithTimeout(c.Context, limit)
	defer cancel()
	p := h.progress
	for {
		st, err := h.Next(ctx)
		v, unknown := st.Service(serviceOf(c).Shown())
		state := "/" + string(v.Name) + " is " + v.State()
		switch {
		case c.Context.Err() != nil:
			return c.Context.Err() // interrupted
		case ctx.Err() != nil:
			return &exitError{exitTimeout, fmt.Errorf("not %s within %s: %s", goal, limit, cmp.Or(p.Last, "no answer")), ""}
		case err != nil:
			p.Say(err.Error()) // the daemon may come back
		case unknown != nil:
			return unknown
		case v.Serves() == (goal == "ready"):
			p.Done(state)
			return nil
		default:
			p.Say(state)
		}
	}
}
