// Package guard drains a master before its service stops and returns it after it
// has started. The guard's unit runs it; the service stops in any case.
package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// ErrNotIdle says that the time was over before the last agent had finished.
var ErrNotIdle = errors.New("not idle")

var (
	// errCollision says that the master has to go back into service.
	errCollision = errors.New("goes back into service")
	// errCancelled says that the service does not stop any more.
	errCancelled = errors.New("the stop was cancelled")
	// errDied says that the service has no agents left, and must restart at once.
	errDied = errors.New("the service's process has died")
)

// Guard is one run of the guard.
type Guard struct {
	Service  string // as in the name of its unit
	Settings config.Config
	Out      io.Writer
	Progress *render.Progress
	Slot     *wait.Slot // in the budget; nil if it needs none

	store     *drain.Store
	client    api.Client
	ask       func(ctx context.Context, unit string) (systemd.Service, error)
	hostStops func(ctx context.Context) (bool, error)
	departure *rotation.Departure
	stop      rotation.Stop
	stopping  bool      // systemd has had a job that stops the service, or has not answered
	asked     time.Time // when systemd was last asked about that, and whether the host stops
	announced time.Time // when the pending stop was last announced
}

// New returns a guard of a service.
func New(service string, settings config.Config, out io.Writer, progress *render.Progress) *Guard {
	return &Guard{
		Service:   service,
		Settings:  settings,
		Out:       out,
		Progress:  progress,
		store:     settings.Store(),
		client:    api.Client{Socket: settings.Socket},
		ask:       systemd.AskService,
		hostStops: systemd.HostStops,
		departure: wait.NewDeparture(""),
		stop:      rotation.Stop{Lot: rand.Float64()},
	}
}

// BeforeStop blocks until the service may stop. The caller stops it in any case, so an
// error only says that agents may be left; it wraps ErrNotIdle if the time was over.
func (g *Guard) BeforeStop(ctx context.Context) error {
	g.stop.Began = time.Now()
	err := g.beforeStop(ctx)
	switch {
	case errors.Is(err, errDied):
		g.Progress.Done("does not wait for the last agents: " + err.Error())
		return nil
	case !errors.Is(err, errCancelled):
		return err
	}
	if err := g.liftHold("stays in service: " + err.Error()); err != nil {
		return err
	}
	return systemd.Start(ctx, "pmcheck-guard@"+g.Service+".service") // for the next stop
}

func (g *Guard) beforeStop(ctx context.Context) error {
	if held, _ := g.held(); held == drain.Drain {
		return g.drain(ctx)
	}
	g.look(ctx)
	for {
		inTime, err := g.waitTurn(ctx)
		switch {
		case err != nil:
			_, _ = g.store.Lift(drain.Guard, "")
			return err
		case !g.departure.Replaced():
			return g.serveUntilStop(g.departure.Alone())
		}
		err = g.drain(ctx)
		switch {
		case !errors.Is(err, errCollision):
			return err
		case !inTime && !g.serveOn():
			return g.serveUntilStop(err.Error())
		}
		g.goBack(err)
	}
}

// look notes what balancers say before the first wait, which may end, with a turn of 0,
// before it has asked.
func (g *Guard) look(ctx context.Context) {
	if status, err := g.client.Ask(ctx); err == nil {
		g.departure.Saw(status)
	}
}

// drain sets the hold and waits until the last agent has finished. The error wraps
// errCollision if another server has left at the same time.
func (g *Guard) drain(ctx context.Context) error {
	set, err := g.store.Put(g.Hold())
	if err != nil {
		return err
	}
	fmt.Fprintf(g.Out, "held: %s\n", render.Hold(set))
	return g.waitIdle(ctx)
}

// Hold is what the guard holds while the service stops.
func (g *Guard) Hold() drain.Hold {
	return drain.Hold{
		Holder:      drain.Guard,
		Mode:        drain.Drain,
		Reason:      g.Service + " is about to stop",
		UntilReboot: true,
	}
}

// serveUntilStop has the service serve until it stops.
func (g *Guard) serveUntilStop(why string) error {
	return g.liftHold("not drained, serves until it stops: " + why)
}

// liftHold reports why the guard no longer holds the master, and lifts its hold if there is one.
func (g *Guard) liftHold(why string) error {
	g.Progress.Done(why)
	_, err := g.store.Lift(drain.Guard, "")
	if errors.Is(err, drain.ErrNotFound) {
		return nil
	}
	return err
}

// goBack returns the master to service for a later try. The announcement of the stop replaces
// the hold in one write, so that a status always shows one of the two.
func (g *Guard) goBack(why error) {
	g.Progress.Done(why.Error())
	g.departure.Returned()
	g.stop.Drained = time.Time{}
	if !g.announce(g.Service + " is about to stop; another server has left at the same time, so it tries again later") {
		_, _ = g.store.Lift(drain.Guard, "")
	}
}

// held returns the mode of the guard's own hold, and whether there is one.
func (g *Guard) held() (drain.Mode, bool) {
	for _, h := range g.store.Read().Holds() {
		if h.Holder == drain.Guard && h.Service == "" {
			return h.Mode, true
		}
	}
	return drain.Ready, false
}
