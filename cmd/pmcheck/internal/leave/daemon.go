package leave

import (
	"context"
	"errors"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/obstacle"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// daemonPause is how long a restart of the daemon may take.
const daemonPause = 5 * time.Second

// A presence says whether a daemon runs, and answers.
type presence int

const (
	answers presence = iota
	pauses           // it does not answer, but for no longer than its restart takes
	silent           // a process runs and does not answer: it may be telling balancers to use this master
	absent           // no process runs, and balancers see that
)

// A daemon is what has been heard of the daemon.
type daemon struct {
	world    World
	onStatus func(status.Status) // called with each status
	status   status.Status       // the last status; zero if the daemon has never answered
	presence presence
	lost     time.Time // since when the daemon does not answer; zero while it does
	ran      time.Time // when a process was last known to run
}

// next reads the next status. It returns an obstacle if there is none.
func (d *daemon) next(ctx context.Context) []status.Obstacle {
	s, err := d.world.Next(ctx)
	if err == nil {
		d.status = s
		d.presence = answers
		d.lost = time.Time{}
		d.ran = time.Now()
		d.onStatus(s)
		return nil
	}

	if d.lost.IsZero() {
		d.lost = time.Now()
	}
	// A daemon that has never answered may have run until now.
	if d.ran.IsZero() {
		d.ran = d.lost
	}
	d.presence = d.classify(ctx, err)
	if d.presence == silent {
		d.ran = time.Now()
	}
	return obstacle.NotKnown(err)
}

// classify returns the presence of a daemon that has not answered.
func (d *daemon) classify(ctx context.Context, err error) presence {
	if time.Since(d.lost) < daemonPause {
		return pauses
	}

	// A process has sent the answer that cannot be read.
	unreadable := !errors.Is(err, status.ErrNoDaemon)
	if unreadable || d.world.Runs(ctx) {
		return silent
	}
	return absent
}

func (d *daemon) silent() bool { return d.presence == silent }
func (d *daemon) absent() bool { return d.presence == absent }
