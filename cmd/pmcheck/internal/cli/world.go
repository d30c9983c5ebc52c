package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// host is what a command sees of this host and its pool. It shows what it waits for.
type host struct {
	leave.World
	settings config.Config
	progress *show.Progress
	out      io.Writer
}

func hostOf(c *cli.Context) *host {
	settings := loadAnyway(c)
	h := &host{leave.NewWorld(settings), settings, show.NewProgress(c.App.ErrWriter), c.App.Writer}
	h.Say = h.progress.Say
	h.Note = func(line string) { h.progress.Note(c.App.ErrWriter, line) }
	h.Changed = func(what string, hold drain.Hold) { h.print("%s: %s", what, hold) }
	return h
}

func (h *host) print(format string, args ...any) {
	h.progress.Note(h.out, fmt.Sprintf(format, args...))
}

func options(c *cli.Context) config.Options {
	return config.Options{File: c.String("config"), Environ: os.Environ()}
}

// loadAnyway reads the configuration for the commands that an operator and the guard need in an emergency.
// Without Puppet it lacks what only puppet.conf says. If it is broken, loadAnyway complains and returns the
// defaults, with what can be read of the socket, Puppet's port, the fleet and the budget, which then cannot be asked:
// the defaults have no certificate.
func loadAnyway(c *cli.Context) config.Config {
	loaded, broken := config.Load(options(c))
	if broken == nil {
		return loaded.Config
	}
	(&exitError{exitUsage, broken, "mend it; until then this command uses the defaults"}).complain(c.App.ErrWriter)
	settings, readable := config.Default(), loaded.Config
	settings.Socket, settings.HoldsIn = readable.Socket, readable.HoldsIn
	settings.Probe.Address, settings.Fleet = readable.Probe.Address, readable.Fleet
	settings.Budget.Database = readable.Budget.Database
	return settings
}

// endWithTerminal has a lost terminal interrupt the command: no hold must wait on behalf of nobody. Under
// nohup the command goes on.
func endWithTerminal(c *cli.Context) (stop func()) {
	if signal.Ignored(syscall.SIGHUP) {
		return func() {}
	}
	c.Context, stop = signal.NotifyContext(c.Context, syscall.SIGHUP, syscall.SIGQUIT)
	return stop
}

// takeOut takes the master out as the request says, and prints what has become of that. It returns
// the hold, which is zero if none was set or it was lifted again.
func (h *host) takeOut(c *cli.Context, r leave.Request) (drain.Hold, error) {
	set, err := leave.Out(c.Context, h.World, r)
	if err == nil {
		h.saysOut(r)
	}
	isHeld := set.Mode != ""
	if !isHeld {
		return set, err
	}

	// with-hold lifts its hold after an error, and renews its end until then.
	forWithHold := r.New
	if err != nil && !forWithHold {
		h.Note("the hold stays")
	}

	interrupted := c.Context.Err() != nil
	if !interrupted {
		err = errors.Join(err, h.report(c.Context, r.Hold.Service, set))
	}
	if err == nil && r.For > 0 && !forWithHold {
		h.print("ends by itself at %s", set.Until.Local().Format(time.DateTime))
	}
	return set, err
}

// saysOut ends the lines of what was waited for.
func (h *host) saysOut(r leave.Request) {
	if r.Idle {
		h.progress.Done("idle")
	} else if waited := h.progress.Last != ""; waited {
		h.progress.Done("out")
	}
}

// effectTime is how long the daemon may take to act on the holds. It needs milliseconds; if the kernel loses a
// change, 5 s.
const effectTime = 7 * time.Second

// report prints the state of a service once the daemon has seen what is on disk, and the holds beside the own one.
// A daemon that answers and does not see them is an error.
func (h *host) report(ctx context.Context, service drain.Service, own drain.Hold) error {
	service = service.Shown()
	limited, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	var err error
	var st status.Status
	var holds []drain.Hold
	for seen := false; err == nil && !seen; seen = sameHolds(st.Holds, holds) {
		if st, err = h.Next(limited); err == nil {
			_, err = st.Service(service)
		}
		holds = h.settings.Store().Read().At(time.Now()).Holds()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, status.ErrNoService):
		return err
	case limited.Err() != nil:
		return fmt.Errorf("not in effect: the daemon has not acted on it after %s; see pmcheck status", effectTime)
	case err != nil:
		h.print("not in effect yet: %s; it applies when the daemon starts", err)
	default:
		h.print("in effect: %s", st.State(service))
	}
	for _, o := range holds {
		if o != own && o.Covers(service) {
			h.print("also held: %s", o)
		}
	}
	return nil
}

// sameHolds reports whether a daemon has seen the holds that are on disk. It may be unable to read one, and has a
// view of its own of the directories.
func sameHolds(seen, disk []drain.Hold) bool {
	ofDirectory := func(h drain.Hold) bool { return h.Holder == drain.Directory }
	seen, disk = slices.DeleteFunc(slices.Clone(seen), ofDirectory), slices.DeleteFunc(slices.Clone(disk), ofDirectory)
	return len(seen) == len(disk) && !slices.ContainsFunc(disk, func(h drain.Hold) bool {
		return !slices.ContainsFunc(seen, func(s drain.Hold) bool {
			return s.Holder == h.Holder && s.Service == h.Service && s.UntilReboot == h.UntilReboot &&
				(s.Code != "" || s.Mode == h.Mode && s.Leaving == h.Leaving)
		})
	})
}
