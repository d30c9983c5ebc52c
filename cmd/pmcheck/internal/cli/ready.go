package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/drain"
)

func readyCommand(environ []string) *cli.Command {
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
		Action: func(c *cli.Context) error { return ready(c, environ) },
	}
}

func ready(c *cli.Context, environ []string) error {
	misnamed := checkNames(c)
	if c.Bool("all") && (c.IsSet("hold") || c.IsSet("service")) {
		return usageError("--all lifts every hold: it cannot be combined with --hold or --service")
	}
	store := loadAnyway(c, environ).Store()
	// A file holds the master even if its name is not valid for a holder, so that name is
	// accepted here if there is such a file.
	isThere := func(h drain.Hold) bool { return h.Code != "" && h.Holder == c.String("hold") }
	if misnamed != nil && !slices.ContainsFunc(store.Read().Holds(), isThere) {
		return misnamed
	}
	var lifted []drain.Hold
	var err error
	if c.Bool("all") {
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
	return comeBack(c, environ, lifted, limit)
}

// comeBack reports what was lifted, and waits until the master is back in service, unless limit is 0.
func comeBack(c *cli.Context, environ []string, lifted []drain.Hold, limit time.Duration) error {
	w, settings, p := worldOf(c, environ)
	defer p.End()
	t := show.Toggle{Lifted: lifted}
	status := reportMode(c, w, settings, &t)
	if !c.Bool("json") {
		t.Write(c.App.Writer, status.Time)
	}
	var err error
	if limit > 0 {
		if _, unknown := status.ServiceOrError(c.String("service")); c.IsSet("service") && unknown != nil {
			return noService(unknown)
		}
		err = w.InService(c.Context, c.String("service"), limit)
		reached := err == nil
		if t.Reached = &reached; reached {
			p.Done("in service")
		}
		if errors.Is(err, leave.ErrNotBack) {
			err = &exitError{status: exitTimeout, err: err}
		}
	}
	if c.Bool("json") {
		err = errors.Join(text.WriteJSON(c.App.Writer, t), err)
	}
	return err
}
