package guard

import (
	"context"
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
)

// waitIdle waits until the last agent has finished.
func (g *Guard) waitIdle(ctx context.Context) error {
	g.stop.Drained = time.Now()
	mode, _ := g.store.Read().Mode(monitor.Server, g.stop.Drained)
	since := time.Now()
	if status, err := wait.Effect(ctx, g.client, monitor.Server, mode); err == nil {
		since = status.Time
	}
	look := wait.DrainedInTurn(g.departure)(g.client, g.Settings.Probe.Address, "", since)
	unheard := false
	left, clear, err := g.wait(ctx, rotation.Settle, func(ctx context.Context) []api.Obstacle {
		status, err := g.client.Ask(ctx)
		unheard = err == nil && rotation.Unheard(status, since) && len(g.departure.Collision(status)) == 0
		if unheard {
			return nil
		}
		return look(ctx)
	})
	switch {
	case err != nil:
		return err
	case rotation.Collided(left):
		return fmt.Errorf("%w: %s", errCollision, api.Summary(left))
	case !clear:
		after := time.Since(g.stop.Drained).Round(time.Second)
		return fmt.Errorf("%w after %s: %s", ErrNotIdle, after, api.Summary(left))
	case unheard:
		g.Progress.Done("no balancer has asked this master for an hour, and no gate is closed, " +
			"so agents would not go elsewhere: not waited for")
	default:
		g.Progress.Done("idle")
	}
	return nil
}

// wait looks until the way is clear for settle, there is a collision, or the time of
// this part of the stop is over, and returns what was in the way last. The error is ctx's,
// errCancelled or errDied.
func (g *Guard) wait(ctx context.Context, settle time.Duration, look wait.Look) (
	left []api.Obstacle, clear bool, err error) {
	settled := drain.Settle{After: settle}
	for {
		if err := g.askSystemd(ctx); err != nil {
			return left, false, err
		}
		limited, cancel := context.WithDeadline(ctx, g.stop.Deadline(g.Settings.Guard))
		obstacles := look(limited)
		over := limited.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return left, false, ctx.Err()
		case over:
			return left, false, nil
		case rotation.Collided(obstacles):
			return obstacles, false, nil
		case settled.Observe(len(obstacles) == 0, time.Now()):
			return nil, true, nil
		}
		if left = obstacles; len(left) > 0 {
			g.Progress.Say(api.Summary(left))
		}
	}
}
