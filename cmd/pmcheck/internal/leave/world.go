package leave

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// Holds are the holds of this host: a drain.Store.
type Holds interface {
	Change(holder, service string, next func(old drain.Hold) (drain.Hold, error)) (drain.Hold, error)
	Read() drain.Snapshot
}

// World is what the way out and back sees and changes.
type World struct {
	// Next returns the daemon's status: at once the first time, then after a pause. The error wraps
	// status.ErrNoDaemon if no daemon answers.
	Next        func(ctx context.Context) (status.Status, error)
	Connections func(master string) ([]tcp.Connection, error)
	Holds       Holds
	// Claim claims a slot in the budget, see budget.Client; nil without one.
	Claim func(ctx context.Context, want budget.Claim) error
	// Fleet asks the other masters, see NewFleet; nil if no fleet is known.
	Fleet func(ctx context.Context) (others []Witness, place int)
	// Say shows what is waited for, and Note what has been decided. Changed, if set, shows a hold that was "held"
	// or "lifted".
	Say, Note func(line string)
	Changed   func(what string, h drain.Hold)
}

// NewWorld returns the world of this host. Say, Note and Changed are the caller's to set.
func NewWorld(c config.Config) World {
	w := World{
		Next:        status.Client{Socket: c.Socket}.Follow(),
		Connections: tcp.Connections,
		Holds:       c.Store(),
		Fleet:       NewFleet(c.Fleet),
	}
	if c.Budget.Database != "" {
		w.Claim = budget.New(c).Claim
	}
	return w
}

// wait looks until the way has been clear for settled, or the time is over, and returns what was in the way
// last: nil if it is clear. The error is that of look or of ctx.
func (w World) wait(ctx context.Context, over func() bool, settled time.Duration,
	look func(ctx context.Context) ([]status.Obstacle, error)) (left []status.Obstacle, err error) {
	var since time.Time // since when the way is clear
	for {
		list, err := look(ctx)
		if len(list) > 0 {
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return left, ctx.Err()
		case err != nil:
			return left, err
		case len(list) == 0 && time.Since(since) >= settled:
			return nil, nil
		case len(list) > 0:
			left = list
		case left == nil:
			left = unknown(fmt.Errorf("not clear for %s", settled))
		}
		if over() {
			return left, nil
		}
		if len(list) > 0 {
			w.Say(balancer.Summary(list))
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func obstacle(kind balancer.ObstacleKind, format string, args ...any) []status.Obstacle {
	return []status.Obstacle{balancer.NewObstacle(kind, format, args...)}
}

func unknown(err error) []status.Obstacle { return obstacle(balancer.ObstacleUnknown, "%s", err) }

// errGone says that a hold is no longer the one that was set.
var errGone = errors.New("the hold was lifted or replaced meanwhile, or has ended")

// Amend changes a hold that was set, as Out returned it, and leaves one alone that another party has set in its
// place or has lifted. It returns an error then, and the hold as it is otherwise.
func (w World) Amend(set drain.Hold, change func(*drain.Hold)) (drain.Hold, error) {
	h, err := w.Holds.Change(set.Holder, set.Service, func(old drain.Hold) (drain.Hold, error) {
		if old != set {
			return old, errGone
		}
		change(&old)
		return old, nil
	})
	if err != nil {
		return set, err
	}
	return h, nil
}

// Lift lifts a hold that was set, if it is still there. One that another party has set in its
// place stays, which is not an error.
func (w World) Lift(set drain.Hold) error {
	_, err := w.Amend(set, func(h *drain.Hold) { *h = drain.Hold{} })
	switch {
	case errors.Is(err, errGone):
		return nil
	case err == nil && w.Changed != nil:
		w.Changed("lifted", set)
	}
	return err
}
