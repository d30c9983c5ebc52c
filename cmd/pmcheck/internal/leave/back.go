package leave

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// retryFor is how long a lift that fails is tried again, and retryEvery how often.
const retryFor, retryEvery = time.Minute, time.Second

// ErrNotBack says that a service was not in service again in time. Its hold was lifted.
var ErrNotBack = errors.New("not in service")

// Back lifts the holds of some holders, once a probe has shown that the master serves or limit is over. A hold that is
// set again meanwhile stays: the service stops or reloads once more. The error is that of the last lift, or of ctx.
func Back(ctx context.Context, w World, limit time.Duration, holders ...string) error {
	held := slices.DeleteFunc(w.Holds.Read().At(time.Now()).Holds(), func(h drain.Hold) bool {
		return !slices.Contains(holders, h.Holder)
	})
	if len(held) == 0 {
		return nil
	}
	began := time.Now()
	late, err := w.wait(ctx, expires(limit), 0, func(ctx context.Context) ([]status.Obstacle, error) {
		st, err := w.Next(ctx)
		master := st.Master()
		switch {
		case err != nil:
			return unknown(err), nil
		case Healthy(st, began):
			return nil, nil
		}
		return obstacle(balancer.ObstacleAnswer, "held until the master serves: %s: %s",
			master.Verdict.Health, master.Verdict.Reason), nil
	})
	if err != nil {
		return fmt.Errorf("the hold stays: %w", err)
	}
	if late != nil {
		w.Note("the master does not serve yet, and the time is over")
	}
	for over := expires(retryFor); ; pause(ctx, retryEvery) {
		err = nil
		for _, h := range held {
			err = errors.Join(err, w.Lift(h))
		}
		if err == nil || ctx.Err() != nil || over() {
			return err
		}
		w.Say("not lifted, tries again: " + err.Error())
	}
}

// InService waits until a service has been in service for a moment. The error
// wraps ErrNotBack once limit is over, or is that of ctx.
func (w World) InService(ctx context.Context, service drain.Service, limit time.Duration) error {
	left, err := w.wait(ctx, expires(limit), settle, func(ctx context.Context) ([]status.Obstacle, error) {
		st, err := w.Next(ctx)
		if err != nil {
			return unknown(err), nil
		}
		return InService(st, service), nil
	})
	if err == nil && left != nil {
		err = fmt.Errorf("%w within %s: %s", ErrNotBack, limit, balancer.Summary(left))
	}
	return err
}
