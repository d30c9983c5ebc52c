package leave

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// longestStart is longer than any stop and the start that follows it.
const longestStart = 2 * time.Hour

var (
	// ErrCancelled says that the service does not stop any more.
	ErrCancelled = errors.New("the stop was cancelled")
	// ErrDied says that the service has no agents left, and must restart at once.
	ErrDied = errors.New("the service's process has died")
)

// Guard takes a master out before its service stops or reloads, and returns it afterwards. systemd runs
// the guard. The service stops in any case, so an error of Out only says that agents may be left.
type Guard struct {
	World  World
	Unit   string // of the service
	Holder string // drain.Guard or drain.Reload
	Limits config.Guard
	Ask    func(ctx context.Context, service string) (systemd.Service, error) // systemd.AskService
}

// Stops reports whether the service is about to stop, or to reload, and may have agents. If systemd does not answer,
// as while it is upgraded in the same transaction, Stops returns true: systemd runs the guard for nothing else, unless
// the guard is stopped alone. The first answer of systemd then ends the way out, as if the stop had been cancelled.
func (g *Guard) Stops(ctx context.Context) bool {
	_, err := g.check(ctx)
	return err == nil
}

// Out blocks until the service may stop or reload.
func (g *Guard) Out(ctx context.Context) error {
	verb := " is about to stop"
	if g.Holder == drain.Reload {
		verb = " is about to reload"
	}
	_, err := Out(ctx, g.World, Request{
		Hold: drain.Hold{Holder: g.Holder, Mode: drain.Drain, Reason: g.Unit + verb, UntilReboot: true},
		Idle: true,
		Stop: g,
	})
	return err
}

// check asks systemd whether the host shuts down, and whether the service still is to stop. It returns
// ErrCancelled once the service is not to stop, and ErrDied once its process is gone.
func (g *Guard) check(ctx context.Context) (hostStops bool, err error) {
	service, err := g.Ask(ctx, g.Unit)
	if err != nil { // systemd may be restarting
		return false, nil
	}
	return service.HostStops, g.noLongerStops(service)
}

// noLongerStops returns ErrCancelled or ErrDied for a service that was about to stop, and is not any more.
func (g *Guard) noLongerStops(s systemd.Service) error {
	// A service without a main process has several. Once the last is gone, systemd has none of these states for it.
	runs := []string{"running", "reload", "reload-signal", "reload-notify"}
	if s.MainPID == 0 && !slices.Contains(runs, s.SubState) {
		return ErrDied
	}

	// Of a reload, the job is not looked at, and a host that shuts down cancels no stop.
	if g.Holder != drain.Guard || s.HostStops {
		return nil
	}

	// systemctl cancel has removed the job of the stop, or a start has replaced it.
	stops := []string{"stop", "restart", "try-restart"}
	if !slices.Contains(stops, s.Job) {
		return ErrCancelled
	}
	return nil
}

// Back lifts the guard's hold once the master serves. After a start it also lifts the hold of a reload, which the stop
// may have interrupted. If Back is interrupted itself, the holds stay: the next start or reload calls Back again.
func (g *Guard) Back(ctx context.Context) error {
	if g.Holder == drain.Guard {
		return Back(ctx, g.World, g.Limits.Return, drain.Guard, drain.Reload)
	}

	// The hold may be the hold of the next reload by now.
	s, err := g.Ask(ctx, g.Unit)
	if err == nil && s.Job == "reload" {
		return nil
	}
	return Back(ctx, g.World, g.Limits.Return, g.Holder)
}
