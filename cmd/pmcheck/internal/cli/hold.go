package cli

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
)

func holdCommand(environ []string, mode drain.Mode, usage string) *cli.Command {
	return &cli.Command{
		Name:  string(mode),
		Usage: usage,
		Description: "Sets a hold: the wish of one party, kept until that party lifts it with pmcheck ready.\n" +
			"Set again, it keeps its reason and end unless they are given.\n" +
			"Works while the daemon is stopped. Exit status: 0 set, 1 not set, 2 usage,\n" +
			"6 set but not idle within the time of --wait, 7 refused: a balancer would have no server\n" +
			"left, as many masters are out as the budget allows, or its database does not answer; or\n" +
			"with --wait or --in-turn taken back, since another server left at the same time.",
		Flags: []cli.Flag{
			configFlag(),
			holderFlag(),
			serviceFlag("hold `SERVICE` only, for example ca"),
			&cli.StringFlag{Name: "reason", Aliases: []string{"r"}, Usage: "say why, in `WORDS` that are shown with the hold"},
			durationFlag("for", 0, "end by itself after `DURATION`, for example 30m"),
			&cli.StringFlag{Name: "until", Usage: "end by itself at `TIME`: 15:04, \"2006-01-02 15:04\", RFC 3339, or never"},
			&cli.BoolFlag{Name: "until-reboot", Usage: "end with the next reboot"},
			waitFlag("return when the master is idle, or after that time"),
			&cli.BoolFlag{Name: "force", Usage: "even if a balancer would have no server left, or the budget refuses"},
			&cli.BoolFlag{Name: "in-turn", Usage: "first wait for other servers and its turn, for up to twice --wait (5m)"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error { return hold(c, environ, mode) },
	}
}

func readyCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "ready",
		Usage: "end a hold: take agents again, unless others still hold",
		Description: "Lifts the hold of one holder, operator if none is named; succeeds if there is none.\n" +
			"Exit status: 0 lifted or nothing to lift, 1 not lifted, 2 usage,\n" +
			"6 not in service within the time of --wait.",
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
	settings := loadAnyway(c, environ)
	return leave(c, environ, settings, wish, tomorrow)
}

// leave takes the master out: unless it is refused, it claims a slot in the budget, sets
// the hold, and waits as the flags say.
func leave(c *cli.Context, environ []string, settings config.Config, wish rotation.Wish, tomorrow bool) error {
	client := api.Client{Socket: settings.Socket}
	d := wait.NewDeparture(wish.Hold.Service)
	if err := refuse(c, client, d); err != nil {
		return err
	}
	slot, err := slotFor(c, environ, settings, wish.Hold)
	if err != nil {
		return err
	}
	stop := rotation.Stop{Began: time.Now(), Lot: rand.Float64()}
	for ; ; d.Returned() {
		inTime := false
		if c.Bool("in-turn") {
			if inTime, err = waitForTurn(c, d, &stop, slot, wait.Turn(client, d, settings.Store())); err != nil {
				return err
			}
		}
		if err := goOn(c, slot.Claim(c.Context, c.Bool("force"))); err != nil {
			return err
		}
		if err := setHold(c, settings, wish, d, tomorrow); !errors.Is(err, errCollision) || !inTime {
			return err
		}
	}
}

// setHold sets a hold and waits as the flags say. If another server has left at the
// same time, it puts back what was there before, and the error wraps errCollision, unless
// another command has changed the hold meanwhile.
func setHold(c *cli.Context, settings config.Config, wish rotation.Wish, d *rotation.Departure, tomorrow bool) error {
	store, t, before := settings.Store(), render.Toggle{Tomorrow: tomorrow}, drain.Hold{}
	set, err := store.Change(wish.Hold.Holder, wish.Hold.Service, func(old drain.Hold) (h drain.Hold) {
		if before = old; wish.New && old.Mode != "" {
			return drain.Hold{} // not valid, and so not written
		}
		h, t.Kept = wish.Over(old)
		return h
	})
	switch {
	case wish.New && before.Mode != "":
		return holdsAlready(before)
	case err != nil:
		return setHint(wish, err)
	}
	t.Set = &set
	err = reportToggle(c, settings, t, "idle", wait.DrainedInTurn(d))
	if wanted, limit := waitOf(c); err == nil && c.Bool("in-turn") && !wanted {
		_, err = waitUntilClear(c, "out", limit, 0, wait.Together(api.Client{Socket: settings.Socket}, d))
	}
	if !errors.Is(err, errCollision) {
		if err != nil && !wish.New { // with-hold lifts a new one
			fmt.Fprintln(c.App.ErrWriter, "the hold stays")
		}
		return err
	}
	switch restored, undone := store.Undo(set, before); {
	case errors.Is(undone, drain.ErrNotFound):
		err = fmt.Errorf("%v; the hold was lifted or set again, or ended, meanwhile: nothing was undone", err)
		return &exitError{exitRefused, err, "see pmcheck status"}
	case undone != nil:
		return setHint(wish, undone)
	case restored:
		fmt.Fprintf(c.App.ErrWriter, "restored: %s\n", render.Hold(before))
	default:
		fmt.Fprintf(c.App.ErrWriter, "lifted: %s\n", render.Hold(set))
	}
	return err
}

func ready(c *cli.Context, environ []string) error {
	misnamed := checkNames(c)
	if c.Bool("all") && (c.IsSet("hold") || c.IsSet("service")) {
		return usageError("--all lifts every hold: it cannot be combined with --hold or --service")
	}
	settings := loadAnyway(c, environ)
	store := settings.Store()
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
			fmt.Fprintf(c.App.ErrWriter, "lifted: %s\n", render.Hold(h))
		}
		return writeHint(err)
	}
	return reportToggle(c, settings, render.Toggle{Lifted: lifted}, "in service", wait.InService)
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
func wishOf(c *cli.Context, mode drain.Mode, now time.Time) (w rotation.Wish, tomorrow bool, err error) {
	w.Hold = drain.Hold{
		Holder:      c.String("hold"),
		Service:     c.String("service"),
		Mode:        mode,
		Reason:      c.String("reason"),
		UntilReboot: c.Bool("until-reboot"),
	}
	w.Given = map[rotation.Field]bool{
		rotation.FieldReason:      c.IsSet("reason"),
		rotation.FieldUntil:       c.IsSet("for") || c.IsSet("until"),
		rotation.FieldUntilReboot: c.IsSet("until-reboot"),
	}
	length := durationOf(c, "for")
	switch {
	case c.IsSet("for") && c.IsSet("until"):
		return w, false, usageError("--for and --until cannot be combined")
	case c.IsSet("for") && length <= 0:
		return w, false, usageError("--for must be above 0, not %s", length)
	case c.IsSet("for"):
		w.Hold.Until = now.Add(length)
	case c.IsSet("until") && c.String("until") != "never":
		if w.Hold.Until, tomorrow, err = parseUntil(c.String("until"), now); err != nil {
			return w, false, usageError("--until: %w", err)
		}
	}
	return w, tomorrow, nil
}

// writeHint adds what the caller can do about a hold that was not written.
func writeHint(err error) error {
	if hint := render.WriteHint(err); hint != "" {
		return &exitError{exitFailure, err, hint}
	}
	return err
}

// setHint is writeHint for a hold to be set. One that is not with-hold's may fit into the other directory.
func setHint(wish rotation.Wish, err error) error {
	err = writeHint(err)
	elsewhere := !wish.Hold.UntilReboot && !wish.New && (errors.Is(err, syscall.EROFS) ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT))
	if exit, ok := errors.AsType[*exitError](err); ok && elsewhere {
		exit.hint += "; --until-reboot writes it to the other directory"
	}
	return err
}
