package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

// AfterStart lifts the guard's hold when the master serves again. It leaves the
// hold when it is interrupted: the service stops again then, and the next start
// comes back here.
func (g *Guard) AfterStart(ctx context.Context) error {
	mode, found := g.held()
	if !found {
		return nil
	}
	if mode != drain.Ready {
		if err := g.waitBack(ctx); err != nil {
			return fmt.Errorf("the hold stays: %w", err)
		}
	}
	lifted, err := g.store.Lift(drain.Guard, "")
	if err != nil && !errors.Is(err, drain.ErrNotFound) {
		return err
	}
	for _, h := range lifted {
		fmt.Fprintf(g.Out, "lifted: %s\n", render.Hold(h))
	}
	return nil
}

// waitBack waits until the master serves, or the time is over.
func (g *Guard) waitBack(ctx context.Context) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, g.Settings.Guard.Return)
	defer cancel()
	f := &api.Follower{Client: g.client}
	for {
		status, err := f.Next(limited)
		server, _ := status.Service(monitor.Server)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			g.Progress.Done("the master does not serve yet, and the time is over")
			return nil
		case err != nil:
			g.Progress.Say(err.Error())
		case rotation.Back(status, began):
			g.Progress.Done("the master serves")
			return nil
		default:
			g.Progress.Say(fmt.Sprintf("held until the master serves: %s: %s", server.Verdict.Health, server.Verdict.Reason))
		}
	}
}
