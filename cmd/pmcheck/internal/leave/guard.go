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

// longestStart is more than what lies between the end of the way out and that of the next start.
const longestStart = 2 * time.Hour

var (
	// ErrCancelled says that the service does not stop any more.
	ErrCancelled = errors.New("the stop was cancelled")
	// ErrDied says that the service has no agents left, and must restart at once.
	ErrDied = errors.New("the service's process has died")
)

// Guard takes a master out before its service stops or reloads, and returns it afterwards. systemd runs
// it. The service stops in any case, so an error of Out only says that agents may be left.
type Guard struct {
	World  World
	Unit   string // of the service
	Holder string // drain.Guard or drain.Reload
	Limits config.Guard
	Ask    func(ctx context.Context, service string) (systemd.Service, error) // systemd.AskService
}

// noLongerStops returns ErrCancelled or ErrDied for a service that was about to stop, if it is not any more: systemctl
// cancel has removed its job, a start has replaced it, or its process is gone. Its job is then done, or waits to start
// it. A service that runs without a main process has several: systemd does not say that it runs once the last is gone.
func (g *Guard) noLongerStops(s systemd.Service) error {
	runs := []string{"running", "reload", "reload-signal", "reload-notify"}
	stops := []string{"stop", "restart", "try-restart"}
	switch {
	case s.MainPID == 0 && !slices.Contains(runs, s.SubState):
		return ErrDied
	case g.Holder == drain.Guard && !s.HostStops && !slices.Contains(stops, s.Job):
		return ErrCancelled
	}
	return nil
}

// Stops reports whether the service is about to stop, or to reload, and may have agents. If systemd does
// not answer, as while it is upgraded in the same transaction, it is: that is why systemd runs the guard,
// unless the guard is stopped alone. The first answer then tells, as if the stop had been cancelled.
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
// ErrCancelled once it is not, and ErrDied if it has lost its process.
func (g *Guard) check(ctx context.Context) (hostStops bool, err error) {
	service, err := g.Ask(ctx, g.Unit)
	if err != nil { // systemd may be restarting
		return false, nil
	}
	return service.HostStops, g.noLongerStops(service)
}

// Back lifts the guard's hold once the master serves. After a start it lifts that of a reload, too, which
// the stop may have interrupted. If it is interrupted itself, or the service is about to reload once more, the holds
// stay: the next start or reload comes back here.
func (g *Guard) Back(ctx context.Context) error {
	holders := []string{g.Holder}
	if g.Holder == drain.Guard {
		holders = append(holders, drain.Reload)
	} else if s, err := g.Ask(ctx, g.Unit); err == nil && s.Job == "reload" {
		return nil // the hold may be that of the next reload by now
	}
	return Back(ctx, g.World, g.Limits.Return, holders...)
}
