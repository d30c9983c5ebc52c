package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

const (
	guardHolder = "guard"
	// announceEvery is the least time between two changes of what a pending stop says.
	announceEvery = 5 * time.Second
	// hostEvery is how often systemd is asked whether the host shuts down.
	hostEvery = 2 * time.Second
)

// guardCommand is run by pmcheck-guard@.service. It is not for a terminal.
func guardCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:      "guard",
		Hidden:    true,
		Usage:     "drain before a service stops, return after it has started",
		ArgsUsage: "stop|start UNIT",
		Flags:     []cli.Flag{configFlag()},
		Action:    func(c *cli.Context) error { return runGuard(c, environ) },
	}
}

func runGuard(c *cli.Context, environ []string) error {
	verb, name := c.Args().Get(0), c.Args().Get(1)
	if c.NArg() != 2 || verb != "stop" && verb != "start" {
		return usageError("guard takes stop or start, and a unit")
	}
	if verb == "stop" {
		service, err := systemd.AskService(c.Context, systemd.ServiceUnit(name))
		if err != nil || !rotation.Stops(service) {
			return err
		}
	}
	settings, err := loadOwn(c, environ)
	if err != nil {
		return err
	}
	g := &guard{
		service:  name,
		settings: settings,
		store:    settings.Store(),
		client:   api.Client{Socket: settings.Socket},
		out:      c.App.ErrWriter,
		progress: render.NewProgress(c.App.ErrWriter),
	}
	defer g.progress.End()
	if verb == "stop" {
		return g.beforeStop(c.Context)
	}
	return g.afterStart(c.Context)
}

// guard is one run of the command.
type guard struct {
	service  string // as in the name of its unit
	settings config.Config
	store    *drain.Store
	client   api.Client
	out      io.Writer
	progress *render.Progress

	stop      rotation.Stop
	asked     time.Time // when systemd was last asked whether the host stops
	announced time.Time // when the pending stop was last announced
}

// beforeStop returns when the service may stop. Its caller stops it in any case,
// so an error only says that agents may be left.
func (g *guard) beforeStop(ctx context.Context) error {
	g.stop.Began = time.Now()
	if held, _ := g.held(); held != drain.Drain {
		if err := g.waitTurn(ctx); err != nil {
			_, _ = g.store.Lift(guardHolder, "")
			return err
		}
	}
	set, err := g.store.Put(drain.Hold{
		Holder:      guardHolder,
		Mode:        drain.Drain,
		Reason:      g.service + " is about to stop",
		UntilReboot: true,
	})
	if err != nil {
		return writeHint(err)
	}
	fmt.Fprintf(g.out, "held: %s\n", render.Hold(set))
	return g.waitIdle(ctx)
}

// waitTurn waits until servers are back that balancers had lately. Meanwhile a hold
// of mode ready, which holds nothing, tells what the stop waits for.
func (g *guard) waitTurn(ctx context.Context) error {
	f := &follower{client: g.client}
	_, _, err := g.wait(ctx, 0, func(ctx context.Context) []api.Obstacle {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		status, err := f.next(ctx)
		if err != nil {
			return nil // without a daemon no balancer objects
		}
		turn := rotation.Turn(status, "")
		if len(turn) > 0 && time.Since(g.announced) >= announceEvery {
			g.announce(rotation.Pending(g.service, turn))
		}
		return turn
	})
	return err
}

// announce shows a pending stop in the status, until the wait is over.
func (g *guard) announce(reason string) {
	g.announced = time.Now()
	_, err := g.store.Put(drain.Hold{
		Holder:      guardHolder,
		Mode:        drain.Ready,
		Reason:      reason,
		Until:       g.stop.Deadline(g.settings.Guard),
		UntilReboot: true,
	})
	if err != nil {
		complain(g.out, fmt.Errorf("the pending stop is not announced: %w", err))
	}
}

// waitIdle waits until the last agent has finished.
func (g *guard) waitIdle(ctx context.Context) error {
	g.stop.Drained = time.Now()
	t := toggle{Service: monitor.Server}
	t.Mode, _ = g.store.Read().Mode(t.Service, g.stop.Drained)
	since, err := t.waitForEffect(ctx, g.client)
	if err != nil {
		since = time.Now()
	}
	look := drained(g.client, g.settings.Probe.Address, "", since)
	unheard := false
	left, clear, err := g.wait(ctx, rotation.Settle, func(ctx context.Context) []api.Obstacle {
		if status, err := g.client.Status(ctx); err == nil && rotation.Unheard(status) {
			unheard = true
			return nil
		}
		return look(ctx)
	})
	switch {
	case err != nil:
		return err
	case !clear:
		after := time.Since(g.stop.Drained).Round(time.Second)
		return &exitError{exitTimeout, fmt.Errorf("not idle after %s: %s", after, summary(left))}
	case unheard:
		g.progress.Done("no balancer asks this master, so agents would not go elsewhere: not waited for")
	default:
		g.progress.Done("idle")
	}
	return nil
}

// wait looks until the way is clear for settle, or the time of this part of the
// stop is over, and returns what was in the way last. The error is ctx's.
func (g *guard) wait(
	ctx context.Context, settle time.Duration, look look,
) (left []api.Obstacle, clear bool, err error) {
	settled := drain.Settle{After: settle}
	for {
		g.askHost(ctx)
		limited, cancel := context.WithDeadline(ctx, g.stop.Deadline(g.settings.Guard))
		obstacles := look(limited)
		over := limited.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return left, false, ctx.Err()
		case over:
			return left, false, nil
		case settled.Observe(len(obstacles) == 0, time.Now()):
			return nil, true, nil
		}
		if left = obstacles; len(left) > 0 {
			g.progress.Say(summary(left))
		}
	}
}

// askHost notes that the host shuts down. It can begin to while the guard waits.
func (g *guard) askHost(ctx context.Context) {
	if !g.stop.HostStops.IsZero() || time.Since(g.asked) < hostEvery {
		return
	}
	g.asked = time.Now()
	if stops, err := systemd.HostStops(ctx); err == nil && stops {
		g.stop.HostStops = g.asked
	}
}

// afterStart lifts the guard's hold when the master serves again. It leaves the
// hold when it is interrupted: the service stops again then, and the next start
// comes back here.
func (g *guard) afterStart(ctx context.Context) error {
	mode, found := g.held()
	if !found {
		return nil
	}
	if mode != drain.Ready {
		if err := g.waitBack(ctx); err != nil {
			return fmt.Errorf("the hold stays: %w", err)
		}
	}
	lifted, err := g.store.Lift(guardHolder, "")
	if err != nil && !errors.Is(err, drain.ErrNotFound) {
		return writeHint(err)
	}
	for _, h := range lifted {
		fmt.Fprintf(g.out, "lifted: %s\n", render.Hold(h))
	}
	return nil
}

// waitBack waits until the master serves, or the time is over.
func (g *guard) waitBack(ctx context.Context) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, g.settings.Guard.Return)
	defer cancel()
	f := &follower{client: g.client}
	for {
		status, err := f.next(limited)
		server, _ := status.Service(monitor.Server)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case limited.Err() != nil:
			g.progress.Done("the master does not serve yet, and the time is over")
			return nil
		case err != nil:
			g.progress.Say(err.Error())
		case rotation.Back(status, began):
			g.progress.Done("the master serves")
			return nil
		default:
			g.progress.Say(fmt.Sprintf("held until the master serves: %s: %s", server.Verdict.Health, server.Verdict.Reason))
		}
	}
}

// held returns the mode of the guard's own hold, and whether there is one.
func (g *guard) held() (drain.Mode, bool) {
	for _, h := range g.store.Read().Holds() {
		if h.Holder == guardHolder && h.Service == "" {
			return h.Mode, true
		}
	}
	return drain.Ready, false
}
