package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// worldOf returns what a command sees of this host and its pool, and shows the progress of its waits until
// the caller calls end.
func worldOf(c *cli.Context, environ []string) (w leave.World, settings config.Config, p *show.Progress) {
	loaded, err := config.Load(options(c, environ))
	if err == nil {
		settings = loaded.Config
	} else {
		settings = loadAnyway(c, environ)
	}
	w = leave.NewWorld(settings)
	if w.Claim != nil && err != nil { // the database knows this master by Puppet's certificate
		w.Claim = func(context.Context, budget.Claim) error {
			return fmt.Errorf("%w: %w", budget.ErrUnreachable, err)
		}
	}
	p = show.NewProgress(c.App.ErrWriter)
	w.Say = p.Say
	w.Note = func(line string) { p.Note(c.App.ErrWriter, line) }
	return w, settings, p
}

// announced are holds that are shown when they are set.
type announced struct {
	leave.Holds
	show func(drain.Hold)
}

// Change implements leave.Holds.
func (a *announced) Change(holder, service string, next func(drain.Hold) drain.Hold) (drain.Hold, error) {
	set, err := a.Holds.Change(holder, service, next)
	if err == nil && a.show != nil {
		a.show(set)
		a.show = nil // what follows changes that hold
	}
	return set, err
}

// takeOut takes the master out as the flags and the wish say, and reports what has become of that.
func takeOut(c *cli.Context, environ []string, wish leave.Request, tomorrow bool) (set drain.Hold, err error) {
	w, settings, p := worldOf(c, environ)
	t := show.Toggle{Tomorrow: tomorrow}
	if !c.Bool("json") {
		w.Holds = &announced{w.Holds, func(h drain.Hold) { p.Note(c.App.Writer, "held: "+t.Held(h)) }}
	}
	wish.Idle, wish.Wait = waitOf(c)
	wish.Now, wish.Force = c.Bool("now"), c.Bool("force")
	result, err := leave.Out(c.Context, w, wish)
	stopped, _ := errors.AsType[*leave.Error](err)
	reached := err == nil
	switch {
	case reached && wish.Idle:
		p.Done("idle")
	case reached && p.Last != "":
		p.Done("out")
	}
	p.End()
	if result.Set.Mode == "" {
		return result.Set, leaveError(c, wish, result, err)
	}
	t.Set, t.Reached = &result.Set, &reached
	if stopped != nil {
		t.Obstacles = stopped.Left
	}
	st := reportMode(c, w, settings, &t)
	if stopped != nil && !wish.New { // with-hold lifts a new one
		fmt.Fprintln(c.App.ErrWriter, "the hold stays")
	}
	if c.Bool("json") {
		return result.Set, errors.Join(text.WriteJSON(c.App.Writer, t), leaveError(c, wish, result, err))
	}
	t.Write(c.App.Writer, st.Time)
	return result.Set, leaveError(c, wish, result, err)
}

// leaveError adds the exit status and a hint to the error of leave.Out.
func leaveError(c *cli.Context, wish leave.Request, result leave.Result, err error) error {
	stopped, is := errors.AsType[*leave.Error](err)
	switch {
	case err == nil:
		return nil
	case is && stopped.Kind == leave.Taken:
		return holdsAlready(result.Before)
	case is && stopped.Kind == leave.NotIdle:
		return &exitError{exitTimeout, err, ""}
	case is:
		return &exitError{exitRefused, err, refusedHint(stopped, wish.Hold.Service, result.Status)}
	case errors.Is(err, budget.ErrUnreachable):
		hint := "insist with --force"
		if more := budget.Hint(err); more != "" {
			hint = more + "; or " + hint
		}
		return &exitError{exitRefused, err, hint}
	case errors.Is(err, status.ErrNoService):
		return noService(err)
	}
	return setHint(wish, err)
}

// refusedHint says what the caller can do about a master that may not leave.
func refusedHint(e *leave.Error, service string, s status.Status) string {
	for _, o := range e.Left {
		switch {
		case o.Kind == balancer.ObstacleLast && service == "" && leave.ServerMayLeave(s):
			return "for catalogs only: --service server; for all services: --force"
		case o.Kind == balancer.ObstacleLast:
			return "bring another master up first, or insist with --force"
		}
	}
	return "wait longer with --wait=20m, or insist with --force"
}

// noService adds an exit status and a hint to the error for an unknown service.
func noService(err error) error {
	return &exitError{exitUsage, err, "set services in the configuration, then systemctl reload pmcheck"}
}

// holdsAlready is the error for a hold of the same holder. Lifting the own hold would lift
// it. It may be that of a with-hold whose command still runs, so the hint does not lift it.
func holdsAlready(other drain.Hold) error {
	return &exitError{exitRefused, fmt.Errorf("%s holds already: %s", other.Holder, show.Hold(other)),
		"wait until that work is done, or act as another holder with --hold"}
}
