package leave

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// retryFor is how long a lift that fails is tried again.
	retryFor = time.Minute
	// retryEvery is the pause between two tries.
	retryEvery = time.Second
)

// ErrNotBack says that a service was not in service again in time. Its hold was lifted.
var ErrNotBack = errors.New("not in service")

// Back lifts the holds of some holders, once a probe has shown that the master serves or limit is over. A hold that is
// set again meanwhile stays: the service stops or reloads once more. The error is the last lift's, or the error of ctx.
func Back(ctx context.Context, w World, limit time.Duration, holders ...string) error {
	var held []drain.Hold
	for _, h := range w.Holds.Read().At(time.Now()).Holds() {
		if slices.Contains(holders, h.Holder) {
			held = append(held, h)
		}
	}
	if len(held) == 0 {
		return nil
	}

	began := time.Now()
	late, err := w.waitUntilClear(ctx, limit, 0, func(s status.Status) []status.Blocker {
		if s.ServesSince(began) {
			return nil
		}
		v := s.Master().Verdict
		return blocker.Only(blocker.Answer, "held until the master serves: %s: %s", v.Health, v.Reason)
	})
	if err != nil {
		return fmt.Errorf("the hold stays: %w", err)
	}
	if late != nil {
		w.Note("lifts the hold, since the time is over: " + blocker.Summary(late))
	}
	return w.liftAll(ctx, held)
}

// liftAll lifts holds, and tries again for a while.
func (w World) liftAll(ctx context.Context, held []drain.Hold) error {
	end := time.Now().Add(retryFor)
	for {
		var err error
		for _, h := range held {
			err = errors.Join(err, w.Lift(h))
		}
		isOver := ctx.Err() != nil || !time.Now().Before(end)
		if err == nil || isOver {
			return err
		}

		w.Say("not lifted, tries again: " + err.Error())
		pause(ctx, retryEvery)
	}
}

// InService waits until a service has been in service for a moment. The error
// wraps ErrNotBack once limit is over, or is the error of ctx.
func (w World) InService(ctx context.Context, service drain.Service, limit time.Duration) error {
	inService := func(s status.Status) []status.Blocker { return s.ReturnBlockers(service) }
	left, err := w.waitUntilClear(ctx, limit, status.ClearFor, inService)
	if err != nil {
		return err
	}
	if left != nil {
		return fmt.Errorf("%w within %s: %s", ErrNotBack, limit, blocker.Summary(left))
	}
	return nil
}

// waitUntilClear reads the status until nothing has been in the way for settled, or limit is over. It returns what was
// in the way last, and nil if nothing is. The error is that of ctx.
func (w World) waitUntilClear(ctx context.Context, limit, settled time.Duration,
	judge func(s status.Status) []status.Blocker) (left []status.Blocker, err error) {
	end := time.Now().Add(limit)
	left = blocker.Only(blocker.Unknown, "not clear for %s", settled)
	var since time.Time // since when nothing has been in the way; zero while something is
	for ; ; pause(ctx, w.Every) {
		st, err := w.Status(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		list := blocker.NotKnown(err)
		if err == nil {
			list = judge(st)
		}

		now := time.Now()
		list = blocker.Counting(list, now)
		isClear := len(list) == 0
		if !isClear {
			left = list
			since = time.Time{}
		} else if since.IsZero() {
			since = now
		}

		if isClear && now.Sub(since) >= settled {
			return nil, nil
		}
		if !now.Before(end) {
			return left, nil
		}
		if !isClear {
			w.Say(blocker.Summary(list))
		}
	}
}
