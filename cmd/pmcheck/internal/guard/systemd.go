package guard

import (
	"context"
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/systemd"
)

const (
	// systemdEvery is how often systemd is asked whether the host shuts down, and whether
	// the service still is to stop.
	systemdEvery = 2 * time.Second
	// silentFor is how long systemd may fail to answer before the service counts as about to
	// stop, and askAgain is the pause before it is asked again.
	silentFor = 10 * time.Second
	askAgain  = 500 * time.Millisecond
)

// Stops reports whether the service is about to stop, and has a process that may have
// agents. If systemd does not answer, as while it is upgraded in the same transaction, the
// service counts as about to stop: that is why systemd runs the guard, unless the guard is
// stopped alone. The first answer then tells, as if the stop had been cancelled.
func (g *Guard) Stops(ctx context.Context) bool {
	for began := time.Now(); ; {
		service, err := g.ask(ctx, systemd.ServiceUnit(g.Service))
		switch {
		case err == nil:
			g.stopping = rotation.Stops(service)
			return g.stopping
		case ctx.Err() != nil:
			return false
		case time.Since(began) >= silentFor:
			fmt.Fprintf(g.Out, "drains, since %s probably stops: %v\n", g.Service, err)
			g.stopping = true
			return true
		}
		select {
		case <-ctx.Done():
		case <-time.After(askAgain):
		}
	}
}

// askSystemd notes that the host shuts down, and returns an error if the service is no longer
// to be waited for. Both can happen while the guard waits.
func (g *Guard) askSystemd(ctx context.Context) error {
	if !g.stop.HostStops.IsZero() || time.Since(g.asked) < systemdEvery {
		return nil
	}
	g.asked = time.Now()
	if stops, err := g.hostStops(ctx); err == nil && stops {
		g.stop.HostStops = g.asked
		return nil
	}
	return g.noteJob(ctx)
}

// noteJob notes whether systemd has a job that stops the service. It returns errCancelled if
// systemd no longer has one, and errDied if the service has lost its process.
func (g *Guard) noteJob(ctx context.Context) error {
	service, err := g.ask(ctx, systemd.ServiceUnit(g.Service))
	switch {
	case err != nil:
		return nil
	case rotation.Died(service):
		return errDied
	case rotation.Cancelled(service) && g.stopping:
		return errCancelled
	}
	g.stopping = g.stopping || !rotation.Cancelled(service)
	return nil
}
