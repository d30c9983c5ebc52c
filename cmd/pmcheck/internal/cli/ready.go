package cli

import (
	"context"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/drain"
)

func readyCommand() *cli.Command {
	return &cli.Command{
		Name:  "ready",
		Usage: "end a hold: take agents again, unless others still hold",
		Description: "Lifts the hold of one holder, operator if none is named; succeeds if there is none.\n" +
			"Exit status: 0 lifted or nothing to lift, 6 not in service in time.\n" +
			"Example: pmcheck ready --wait",
		Flags: []cli.Flag{
			configFlag(),
			holderFlag(drain.Operator),
			serviceFlag("lift the hold on `SERVICE`; without it the hold on all of them"),
			&cli.BoolFlag{Name: "all", Usage: "lift every hold, of any holder"},
			&cli.BoolFlag{Name: "wait", Usage: "return when the master serves and every balancer sends"},
			durationFlag("timeout", "5m", "give up waiting after `DURATION`"),
		},
		Action: ready,
	}
}

func ready(c *cli.Context) error {
	if c.Bool("all") && (c.IsSet("hold") || c.IsSet("service")) {
		return usageError("--all lifts every hold: it cannot be combined with --hold or --service")
	}

	h := hostOf(c)
	lifted, err := liftAsked(c, h.settings.Store())
	for _, l := range lifted {
		h.world.Changed("lifted", l)
	}
	if err != nil {
		return err
	}
	if len(lifted) == 0 {
		h.print("nothing to lift")
	}

	service := serviceOf(c)
	if !c.Bool("wait") {
		return h.report(c.Context, service, drain.Hold{})
	}
	return h.comeBack(c.Context, service, durationOf(c, "timeout"))
}

// liftAsked lifts the holds that the flags name. It may lift some and return an error.
func liftAsked(c *cli.Context, store *drain.Store) (lifted []drain.Hold, err error) {
	if c.Bool("all") {
		return store.LiftAll()
	}
	return store.Lift(c.String("hold"), serviceOf(c))
}

// comeBack reports that holds were lifted, and waits until the service is in service again.
func (h *host) comeBack(ctx context.Context, service drain.Service, limit time.Duration) error {
	if err := h.report(ctx, service, drain.Hold{}); err != nil {
		return err
	}

	h.progress.Began = time.Now() // with-hold has waited before
	if err := h.world.InService(ctx, service, limit); err != nil {
		return err
	}
	h.progress.Done("in service")
	return nil
}
