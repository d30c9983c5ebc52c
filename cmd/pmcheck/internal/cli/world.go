package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// host is what a command sees of this host and its pool.
type host struct {
	leave.World
	settings config.Config
}

func hostOf(c *cli.Context) *host {
	settings, err := loadAnyway(c)
	h := &host{leave.NewWorld(settings), settings}
	if h.Claim != nil && err != nil { // the database knows this master by Puppet's certificate
		h.Claim = func(context.Context, budget.Claim) error {
			return fmt.Errorf("%w: %w", budget.ErrUnreachable, err)
		}
	}
	return h
}

// progress shows what h waits for, until the caller calls End.
func (h *host) progress(c *cli.Context) *show.Progress {
	p := show.NewProgress(c.App.ErrWriter)
	h.Say = p.Say
	h.Note = func(line string) { p.Note(c.App.ErrWriter, line) }
	return p
}

// takeOut takes the master out as the request and the flags say, and prints what has become of that. It returns
// the hold, which is zero if none was set or it was lifted again.
func takeOut(c *cli.Context, h *host, r leave.Request) (drain.Hold, error) {
	p := h.progress(c)
	defer p.End()
	var set drain.Hold
	h.Held = func(held drain.Hold) {
		if set = held; !c.Bool("json") {
			p.Note(c.App.Writer, "held: "+show.Hold(held))
		}
	}
	r.Now, r.Force = c.Bool("now"), c.Bool("force")
	left, err := leave.Out(c.Context, h.World, r)
	switch held := left.Mode != ""; {
	case err == nil && r.Idle:
		p.Done("idle")
	case err == nil && p.Last != "":
		p.Done("out")
	case err != nil && held && !r.New: // with-hold lifts a new one
		p.Note(c.App.ErrWriter, "the hold stays")
	case err != nil && !held && set.Mode != "":
		p.Note(c.App.ErrWriter, "lifted: "+show.Hold(set))
	}
	p.End()
	err = leaveError(len(h.settings.Services) > 0 && r.Hold.Service == "", err)
	if left.Mode != "" && c.Context.Err() == nil {
		err = errors.Join(err, report(c, h, &show.Toggle{Set: &left}))
	}
	return left, err
}

// report prints what was changed, and the state of the service once the daemon acts on it.
func report(c *cli.Context, h *host, t *show.Toggle) error {
	service, now := cmp.Or(c.String("service"), monitor.Server), time.Now()
	holds := h.settings.Store().Read().At(now)
	t.Mode, _ = holds.Mode(service, now)
	t.Remaining = slices.DeleteFunc(holds.Holds(), func(h drain.Hold) bool {
		return !h.Covers(service) || t.Set != nil && h == *t.Set
	})
	switch st, err := effect(c.Context, h.World, service, t.Mode); {
	case c.Context.Err() != nil:
		return c.Context.Err()
	case err != nil:
		t.Error = err.Error()
	default:
		t.Take(st, service)
	}
	return output(c, t, t.Write)
}

// effectTime is how long the daemon may take to act on a hold that was lifted. It needs milliseconds; if
// the kernel loses a change, 5 s.
const effectTime = 7 * time.Second

// effect blocks until the daemon reports the mode that the files have, and returns the status that does.
func effect(ctx context.Context, w leave.World, service string, m drain.Mode) (status.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	for {
		st, err := w.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return st, fmt.Errorf("the daemon has not acted on it after %s; see pmcheck status", effectTime)
		case err != nil:
			return st, err
		}
		if s, err := st.ServiceOrError(service); err != nil || s.Mode == m {
			return st, err
		}
	}
}

// output prints v as JSON with --json, and calls write without it.
func output(c *cli.Context, v any, write func(io.Writer)) error {
	w := bufio.NewWriter(c.App.Writer) // keeps the first error
	if !c.Bool("json") {
		write(w)
	} else if err := text.WriteJSON(w, v); err != nil {
		return err
	}
	return w.Flush()
}

// leaveError adds the exit status and a hint to the error of leave.Out. several says that the hold was to concern more
// than one service.
func leaveError(several bool, err error) error {
	stopped, is := errors.AsType[*leave.Error](err)
	switch {
	case err == nil:
		return nil
	case is && stopped.Kind == leave.Taken: // it may be that of a with-hold whose command still runs
		return &exitError{exitRefused, fmt.Errorf("%w: %s", err, show.Hold(stopped.Before)),
			"wait until that work is done, or act as another holder with --hold"}
	case is && stopped.Kind == leave.NotIdle:
		return &exitError{exitTimeout, err, ""}
	case is:
		return &exitError{exitRefused, err, refusedHint(stopped, several)}
	case errors.Is(err, budget.ErrUnreachable):
		return &exitError{exitRefused, err, cmp.Or(budget.Hint(err), "mend it") + ", or insist with --force"}
	case errors.Is(err, status.ErrNoService):
		return noService(err)
	}
	return writeHint(err)
}

// refusedHint says what the caller can do about a master that may not leave.
func refusedHint(e *leave.Error, several bool) string {
	switch last := slices.ContainsFunc(e.Left, func(o status.Obstacle) bool { return o.Kind == balancer.ObstacleLast }); {
	case last && several:
		return "for catalogs only: --service server; for all services: --force"
	case last:
		return "bring another master up first, or insist with --force"
	}
	return "wait longer with --wait=20m, or insist with --force"
}

// noService adds an exit status and a hint to the error for an unknown service.
func noService(err error) error {
	return &exitError{exitUsage, err, "set services in the configuration, then systemctl reload pmcheck"}
}
