package wait

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

// NewDeparture returns the Departure of this host. An empty service stands for every service.
func NewDeparture(service string) *rotation.Departure {
	return &rotation.Departure{Service: service, Names: api.OwnNames(), Draw: rand.IntN}
}

// Turn looks at what keeps a master from leaving in its turn. Without a daemon nothing does.
// A status counts only once the daemon has noticed what is in the store: while the status
// still shows a hold that was just lifted, the master looks as if it were out already.
func Turn(client api.Client, d *rotation.Departure, store *drain.Store) Look {
	f := &api.Follower{Client: client}
	var lost absence
	var again, behind time.Time
	return func(ctx context.Context) []api.Obstacle {
		status, err := lookAgain(ctx, f, again)
		switch {
		case err == nil:
			lost = absence{}
		case lost.lasts():
			return nil
		default:
			return unknown(err)
		}
		if err := noticed(status, d.Service, store); err == nil {
			behind = time.Time{}
		} else if behind.IsZero() || time.Since(behind) < effectTime {
			behind = cmp.Or(behind, time.Now())
			return unknown(err)
		}
		var list []api.Obstacle
		list, again = d.Waits(status)
		return list
	}
}

// InTurn waits for the turn of a departure and, if that does not come in time, for the servers
// that leave from then on: masters that have waited for the same server would otherwise all
// leave together. Each of the functions waits for one of these, and returns what was in the
// way last, and whether the way was clear in time. So does InTurn. A master whose way was not
// may still leave, but must return if no server is left.
func InTurn(d *rotation.Departure, stop *rotation.Stop, turn, overtime func() ([]api.Obstacle, bool, error)) (
	left []api.Obstacle, inTime bool, err error) {
	if left, inTime, err = turn(); err != nil || inTime {
		return left, inTime, err
	}
	d.Overdue()
	stop.Overdue = true
	last, inTime, err := overtime()
	if len(last) > 0 {
		left = last
	}
	if err == nil && !inTime {
		d.Late()
	}
	return left, inTime, err
}

// noticed returns an error while the daemon shows another mode than the store has.
func noticed(s api.Status, service string, store *drain.Store) error {
	holds := store.Read()
	for _, v := range s.Services {
		mode, _ := holds.Mode(v.Name, time.Now())
		if (service == "" || v.Name == service) && v.Mode != mode {
			return fmt.Errorf("the daemon is still in mode %s", v.Mode)
		}
	}
	return nil
}

// lookAgain returns the next status. If again is not zero, it returns the status at that
// moment at the latest.
func lookAgain(ctx context.Context, f *api.Follower, again time.Time) (api.Status, error) {
	if again.IsZero() {
		return f.Next(ctx)
	}
	early, stop := context.WithDeadline(ctx, again)
	defer stop()
	status, err := f.Next(early)
	if err == nil || ctx.Err() != nil || early.Err() == nil {
		return status, err
	}
	return f.Client.Ask(ctx)
}

// Together looks for another master that leaves together with this one, until none can any
// more.
func Together(client api.Client, d *rotation.Departure) Look {
	d.Left(time.Now())
	f := &api.Follower{Client: client}
	return func(ctx context.Context) []api.Obstacle {
		status, err := f.Next(ctx)
		if err != nil {
			return nil // without a daemon nothing shows whether another one has left
		}
		return append(d.Collision(status), d.Unsettled(status)...)
	}
}
