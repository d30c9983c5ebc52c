package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/drain"
)

func readyCommand() *cli.Command {
	return &cli.Command{
		Name:  "ready",
		Usage: "end a hold: take agents again, unless others still hold",
		Description: "Lifts the hold of one holder, operator if none is named; succeeds if there is none.\n" +
			"Exit status: 0 lifted or nothing to lift, 1 not lifted, 2 usage,\n" +
			"6 not in service within the time of --wait.\n" +
			"Example: pmcheck ready --wait",
		Flags: []cli.Flag{
			configFlag(),
			holderFlag(),
			serviceFlag("lift the hold on `SERVICE`; without it the hold on all of them"),
			&cli.BoolFlag{Name: "all", Usage: "lift every hold, of any holder"},
			waitFlag("return when the master serves and every balancer sends, or after that time"),
			jsonFlag(),
		},
		Action: ready,
	}
}

func ready(c *cli.Context) (err error) {
	if err := checkNames(c); err != nil {
		return err
	}
	if c.Bool("all") && (c.IsSet("hold") || c.IsSet("service")) {
		return usageError("--all lifts every hold: it cannot be combined with --hold or --service")
	}
	h := hostOf(c)
	var lifted []drain.Hold
	if store := h.settings.Store(); c.Bool("all") {
		lifted, err = store.LiftAll()
	} else {
		lifted, err = store.Lift(c.String("hold"), c.String("service"))
	}
	if err != nil && !errors.Is(err, drain.ErrNotFound) {
		for _, h := range lifted {
			fmt.Fprintf(c.App.ErrWriter, "lifted: %s\n", show.Hold(h))
		}
		return writeHint(err)
	}
	wanted, limit := waitOf(c)
	if !wanted {
		limit = 0
	}
	return comeBack(c, h, lifted, limit)
}

// comeBack reports what was lifted, and waits until the master is back in service, unless limit is 0.
func comeBack(c *cli.Context, h *host, lifted []drain.Hold, limit time.Duration) error {
	p := h.progress(c)
	defer p.End()
	if err := report(c, h, &show.Toggle{Lifted: lifted}); err != nil || limit == 0 {
		return err
	}
	if service := c.String("service"); service != "" {
		st, err := h.Next(c.Context)
		if _, unknown := st.ServiceOrError(service); err == nil && unknown != nil {
			return noService(unknown)
		}
	}
	err := h.InService(c.Context, c.String("service"), limit)
	switch {
	case err == nil:
		p.Done("in service")
	case errors.Is(err, leave.ErrNotBack):
		return &exitError{status: exitTimeout, err: err}
	}
	return err
}
