package leave

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// retryFor is how long a lift that fails is tried again, and retryEvery how often.
	retryFor, retryEvery = time.Minute, time.Second
)

// Return is the wish of a party that the master comes back.
type Return struct {
	// Holders are those whose holds on Service are lifted. If Lift is set, it lifts them instead.
	Holders []string
	Lift    func() ([]drain.Hold, error)
	Service string // empty: every service
	// Healthy is how long to wait, before the lift, for a probe that shows that the master serves.
	Healthy time.Duration
	// Retry is how long a lift that fails is tried again.
	Retry time.Duration
}

// ErrNotBack says that a service was not in service again in time. Its hold was lifted.
var ErrNotBack = errors.New("not in service")

// Back lifts holds, and returns what it has lifted. There may be none to lift. The error is that of the
// last lift, or of ctx.
func Back(ctx context.Context, w World, r Return) (lifted []drain.Hold, err error) {
	if r.Lift == nil {
		r.Lift = func() ([]drain.Hold, error) { return liftAll(w.Holds, r.Holders, r.Service) }
	}
	other := func(h drain.Hold) bool { return !slices.Contains(r.Holders, h.Holder) || h.Service != r.Service }
	if held := slices.DeleteFunc(w.Holds.Read().Holds(), other); r.Healthy > 0 && len(held) > 0 {
		if err := w.healthy(ctx, r.Healthy); err != nil {
			return nil, fmt.Errorf("the hold stays: %w", err)
		}
		r.Lift = func() ([]drain.Hold, error) { return liftUnchanged(w.Holds, held) }
	}
	for began := time.Now(); ; pause(ctx, retryEvery) {
		var more []drain.Hold
		more, err = r.Lift()
		lifted = append(lifted, more...)
		if err == nil || ctx.Err() != nil || time.Since(began) >= r.Retry {
			return lifted, err
		}
		w.Say("not lifted, tries again: " + err.Error())
	}
}

// liftAll lifts the holds of all holders, as far as there are any.
func liftAll(holds Holds, holders []string, service string) (lifted []drain.Hold, err error) {
	for _, holder := range holders {
		list, failed := holds.Lift(holder, service)
		lifted = append(lifted, list...)
		if !errors.Is(failed, drain.ErrNotFound) {
			err = errors.Join(err, failed)
		}
	}
	return lifted, err
}

// liftUnchanged lifts holds, but not those that have been set again: the service stops or reloads once more.
func liftUnchanged(holds Holds, list []drain.Hold) (lifted []drain.Hold, err error) {
	for _, h := range list {
		_, failed := holds.Undo(h, drain.Hold{})
		if failed == nil {
			lifted = append(lifted, h)
		} else if !errors.Is(failed, drain.ErrNotFound) {
			err = errors.Join(err, failed)
		}
	}
	return lifted, err
}

// healthy waits until a probe has shown that the master serves, or limit is over. The error is that of ctx.
func (w World) healthy(ctx context.Context, limit time.Duration) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		st, err := w.Next(limited)
		server, _ := st.Service(monitor.Server)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			w.Note("the master does not serve yet, and the time is over")
			return nil
		case err != nil:
			w.Say(err.Error())
		case Healthy(st, began):
			return nil
		default:
			w.Say(fmt.Sprintf("held until the master serves: %s: %s", server.Verdict.Health, server.Verdict.Reason))
		}
	}
}

// InService waits until a service, or the master if it is empty, has been in service for a moment. The error
// wraps ErrNotBack once limit is over, or is that of ctx.
func (w World) InService(ctx context.Context, service string, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	settled := drain.Settle{After: settle}
	var left []status.Obstacle
	for {
		st, err := w.Next(limited)
		list := InService(st, service)
		if err != nil {
			list = unknown(err)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case settled.Observe(len(list) == 0, time.Now()):
			return nil
		case limited.Err() != nil:
			return fmt.Errorf("%w within %s: %s", ErrNotBack, limit, balancer.Summary(left))
		case len(list) > 0:
			left = list
			w.Say(balancer.Summary(left))
		}
	}
}
