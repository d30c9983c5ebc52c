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
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// announceEvery is the least time between two changes of what a pending stop says.
const announceEvery = 5 * time.Second

// ErrNotIdle says that the time was over before the last agent had finished.
var ErrNotIdle = errors.New("not idle")

var (
	// errCollision says that the master has to go back into service.
	errCollision = errors.New("goes back into service")
	// errCancelled says that the service does not stop any more.
	errCancelled = errors.New("the stop was cancelled")
	// errDied says that the service has no agents left, and must restart at once.
	errDied = errors.New("its process has died")
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

// BeforeStop returns when the service may stop. Its caller stops it in any case,
// so an error only says that agents may be left; it wraps ErrNotIdle if the time
// was over.
func (g *Guard) BeforeStop(ctx context.Context) error {
	g.stop.Began = time.Now()
	err := g.beforeStop(ctx)
	switch {
	case errors.Is(err, errDied):
		g.Progress.Done("not waited for: " + err.Error())
		return nil
	case !errors.Is(err, errCancelled):
		return err
	}
	if err := g.serves("it serves on: " + err.Error()); err != nil {
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

// look notes what balancers say before the first wait, which may have no time at all.
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
	return g.serves("not drained, serves until it stops: " + why)
}

// serves lifts whatever the guard holds.
func (g *Guard) serves(why string) error {
	g.Progress.Done(why)
	_, err := g.store.Lift(drain.Guard, "")
	if errors.Is(err, drain.ErrNotFound) {
		return nil
	}
	return err
}

// goBack returns the master to service for a later try. What the stop waits for takes
// the place of the hold, so that a status never shows neither.
func (g *Guard) goBack(why error) {
	g.Progress.Done(why.Error())
	g.departure.Returned()
	g.stop.Drained = time.Time{}
	if !g.announce(g.Service + " is about to stop; another server has left at the same time, so it tries again later") {
		_, _ = g.store.Lift(drain.Guard, "")
	}
}

// waitTurn waits until the master may leave, and reports whether that was in time.
// Meanwhile a hold of mode ready, which holds nothing, tells what the stop waits for.
func (g *Guard) waitTurn(ctx context.Context) (inTime bool, err error) {
	turn := wait.Turn(g.client, g.departure, g.store)
	look := func(ctx context.Context) []api.Obstacle {
		list := turn(ctx)
		if g.stop.Overdue && !g.stop.HostStops.IsZero() && len(list) == 0 && !g.departure.Replaced() {
			list = []api.Obstacle{{Kind: api.ObstacleLast, Text: g.departure.Alone()}}
		}
		return list
	}
	inTurn := func() ([]api.Obstacle, bool, error) {
		return g.wait(ctx, 0, func(ctx context.Context) []api.Obstacle {
			if lost := g.Slot.Lost(); lost != nil && time.Now().After(g.stop.BudgetUntil(g.Settings.Guard)) {
				g.withoutBudget(lost)
			}
			return g.pending(ctx, g.Slot.After(look)(ctx))
		})
	}
	_, inTime, err = wait.InTurn(g.departure, &g.stop, inTurn, func() ([]api.Obstacle, bool, error) {
		late := g.Slot.Late(look, &g.stop, g.Settings.Guard)
		return g.waitLate(ctx, func(ctx context.Context) []api.Obstacle { return g.pending(ctx, late(ctx)) })
	})
	return inTime, err
}

// waitLate waits until a master whose turn has ended may leave.
func (g *Guard) waitLate(ctx context.Context, look wait.Look) (left []api.Obstacle, inTime bool, err error) {
	left, inTime, err = g.wait(ctx, 0, look)
	if err == nil && !inTime && !g.departure.Replaced() && g.serveOn() {
		left, inTime, err = g.wait(ctx, 0, look)
	}
	if err == nil {
		g.claimLate(ctx)
	}
	return left, inTime, err
}

// serveOn has a master that balancers cannot do without serve on while the host shuts down,
// instead of stopping early. It returns false if there is no time left for that.
func (g *Guard) serveOn() bool {
	if g.stop.Last || g.stop.HostStops.IsZero() {
		return false
	}
	g.departure.Overdue()
	g.stop.Last = true
	return true
}

// pending shows what a stop waits for until ctx ends, and returns that.
func (g *Guard) pending(ctx context.Context, turn []api.Obstacle) []api.Obstacle {
	if len(turn) > 0 && ctx.Err() == nil && time.Since(g.announced) >= announceEvery {
		g.announce(rotation.Pending(g.Service, turn))
	}
	return turn
}

// claimLate is for a stop that was not given a slot in time. The service stops in any
// case, so the slot is taken, and the stop goes on as without a budget.
func (g *Guard) claimLate(ctx context.Context) {
	err := g.Slot.Claim(ctx, false)
	if errors.Is(err, budget.ErrTaken) {
		fmt.Fprintf(g.Out, "goes on without a slot: %v\n", err)
		err = g.Slot.Claim(ctx, true)
	}
	if err != nil {
		g.withoutBudget(err)
	}
}

func (g *Guard) withoutBudget(why error) {
	fmt.Fprintf(g.Out, "goes on without the budget: %v\n", why)
	g.Slot = nil
}

// announce shows a pending stop in the status, until the wait is over, and reports
// whether it could.
func (g *Guard) announce(reason string) bool {
	g.announced = time.Now()
	_, err := g.store.Put(drain.Hold{
		Holder:      drain.Guard,
		Mode:        drain.Ready,
		Reason:      reason,
		Until:       g.stop.Deadline(g.Settings.Guard),
		UntilReboot: true,
	})
	if err != nil {
		fmt.Fprintf(g.Out, "the pending stop is not announced: %v\n", err)
	}
	return err == nil
}

// waitIdle waits until the last agent has finished.
func (g *Guard) waitIdle(ctx context.Context) error {
	g.stop.Drained = time.Now()
	mode, _ := g.store.Read().Mode(monitor.Server, g.stop.Drained)
	since := time.Now()
	if status, err := wait.Effect(ctx, g.client, monitor.Server, mode); err == nil {
		since = status.Time
	}
	look := wait.DrainedInTurn(g.departure)(g.client, g.Settings.Probe.Address, "", since)
	unheard := false
	left, clear, err := g.wait(ctx, rotation.Settle, func(ctx context.Context) []api.Obstacle {
		status, err := g.client.Ask(ctx)
		unheard = err == nil && rotation.Unheard(status, since) && len(g.departure.Collision(status)) == 0
		if unheard {
			return nil
		}
		return look(ctx)
	})
	switch {
	case err != nil:
		return err
	case rotation.Collided(left):
		return fmt.Errorf("%w: %s", errCollision, api.Summary(left))
	case !clear:
		after := time.Since(g.stop.Drained).Round(time.Second)
		return fmt.Errorf("%w after %s: %s", ErrNotIdle, after, api.Summary(left))
	case unheard:
		g.Progress.Done("no balancer has asked this master for an hour, and no gate is closed, " +
			"so agents would not go elsewhere: not waited for")
	default:
		g.Progress.Done("idle")
	}
	return nil
}

// wait looks until the way is clear for settle, there is a collision, or the time of
// this part of the stop is over, and returns what was in the way last. The error is ctx's,
// errCancelled or errDied.
func (g *Guard) wait(ctx context.Context, settle time.Duration, look wait.Look) (
	left []api.Obstacle, clear bool, err error) {
	settled := drain.Settle{After: settle}
	for {
		if err := g.askSystemd(ctx); err != nil {
			return left, false, err
		}
		limited, cancel := context.WithDeadline(ctx, g.stop.Deadline(g.Settings.Guard))
		obstacles := look(limited)
		over := limited.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return left, false, ctx.Err()
		case over:
			return left, false, nil
		case rotation.Collided(obstacles):
			return obstacles, false, nil
		case settled.Observe(len(obstacles) == 0, time.Now()):
			return nil, true, nil
		}
		if left = obstacles; len(left) > 0 {
			g.Progress.Say(api.Summary(left))
		}
	}
}

// AfterStart lifts the guard's hold when the master serves again. It leaves the
// hold when it is interrupted: the service stops again then, and the next start
// comes back here.
func (g *Guard) AfterStart(ctx context.Context) error {
	mode, found := g.held()
	if !found {
		return nil
	}
	if mode != drain.Ready {
		if err := g.waitBack(ctx); err != nil {
			return fmt.Errorf("the hold stays: %w", err)
		}
	}
	lifted, err := g.store.Lift(drain.Guard, "")
	if err != nil && !errors.Is(err, drain.ErrNotFound) {
		return err
	}
	for _, h := range lifted {
		fmt.Fprintf(g.Out, "lifted: %s\n", render.Hold(h))
	}
	return nil
}

// waitBack waits until the master serves, or the time is over.
func (g *Guard) waitBack(ctx context.Context) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, g.Settings.Guard.Return)
	defer cancel()
	f := &api.Follower{Client: g.client}
	for {
		status, err := f.Next(limited)
		server, _ := status.Service(monitor.Server)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			g.Progress.Done("the master does not serve yet, and the time is over")
			return nil
		case err != nil:
			g.Progress.Say(err.Error())
		case rotation.Back(status, began):
			g.Progress.Done("the master serves")
			return nil
		default:
			g.Progress.Say(fmt.Sprintf("held until the master serves: %s: %s", server.Verdict.Health, server.Verdict.Reason))
		}
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
