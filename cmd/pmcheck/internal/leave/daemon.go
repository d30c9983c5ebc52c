package leave

import (
	"context"
	"errors"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// daemonPause is how long a restart of the daemon may take.
const daemonPause = 5 * time.Second

// A daemon is what has been heard of the daemon. It answers, or is silent, which means that a process runs and does
// not answer, or absent: no process runs, and balancers see that.
type daemon struct {
	world  World
	heard  func(status.Status) // if set, called with each status
	status status.Status       // the last one; zero if the daemon has never answered
	lost   time.Time           // since when the daemon does not answer; zero while it does
	runs   bool                // while it does not answer: a process runs
}

// next reads the next status. It returns an obstacle if there is none.
func (d *daemon) next(ctx context.Context) []status.Obstacle {
	s, err := d.world.Next(ctx)
	if err == nil {
		d.status = s
		d.lost = time.Time{}
		if d.heard != nil {
			d.heard(s)
		}
		return nil
	}

	if d.lost.IsZero() {
		d.lost = time.Now()
	}
	if d.overdue() { // an answer that cannot be read is one of a process
		d.runs = !errors.Is(err, status.ErrNoDaemon) || d.world.Runs(ctx)
	}
	return unknown(err)
}

// overdue reports whether the daemon has not answered for longer than its restart takes.
func (d *daemon) overdue() bool { return !d.lost.IsZero() && time.Since(d.lost) >= daemonPause }

// silent reports whether a daemon runs and does not answer. It may be telling balancers to use this master.
func (d *daemon) silent() bool { return d.overdue() && d.runs }

// absent reports whether no daemon runs.
func (d *daemon) absent() bool { return d.overdue() && !d.runs }
