package leave

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/obstacle"
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

	late, err := w.waitUntilClear(ctx, expires(limit), 0, w.lookForProbe(time.Now()))
	if err != nil {
		return fmt.Errorf("the hold stays: %w", err)
	}
	if late != nil {
		w.Note("the master does not serve yet, and the time is over")
	}
	return w.liftAll(ctx, held)
}

// lookForProbe returns a look that is clear once a probe since then has shown that the master serves.
func (w World) lookForProbe(since time.Time) func(ctx context.Context) ([]status.Obstacle, error) {
	return func(ctx context.Context) ([]status.Obstacle, error) {
		st, err := w.Next(ctx)
		if err != nil {
			return obstacle.NotKnown(err), nil
		}
		if st.Healthy(since) {
			return nil, nil
		}
		v := st.Master().Verdict
		return obstacle.Only(obstacle.Answer, "held until the master serves: %s: %s", v.Health, v.Reason), nil
	}
}

// liftAll lifts holds, and tries again for a while.
func (w World) liftAll(ctx context.Context, held []drain.Hold) error {
	over := expires(retryFor)
	for {
		var err error
		for _, h := range held {
			err = errors.Join(err, w.Lift(h))
		}
		if err == nil || ctx.Err() != nil || over() {
			return err
		}

		w.Say("not lifted, tries again: " + err.Error())
		pause(ctx, retryEvery)
	}
}

// InService waits until a service has been in service for a moment. The error
// wraps ErrNotBack once limit is over, or is the error of ctx.
func (w World) InService(ctx context.Context, service drain.Service, limit time.Duration) error {
	look := func(ctx context.Context) ([]status.Obstacle, error) {
		st, err := w.Next(ctx)
		if err != nil {
			return obstacle.NotKnown(err), nil
		}
		return st.InService(service), nil
	}
	left, err := w.waitUntilClear(ctx, expires(limit), status.ClearFor, look)
	if err != nil {
		return err
	}
	if left != nil {
		return fmt.Errorf("%w within %s: %s", ErrNotBack, limit, obstacle.Summary(left))
	}
	return nil
}

// expires returns a function that reports whether limit is over, from now on.
func expires(limit time.Duration) func() bool {
	end := time.Now().Add(limit)
	return func() bool { return !time.Now().Before(end) }
}
