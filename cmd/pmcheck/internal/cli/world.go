package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// host is what a command sees of this host and its pool, and where the command shows what it waits for.
type host struct {
	world    leave.World
	follow   func(ctx context.Context) (status.Status, error) // client.Daemon.Follow
	settings config.Config
	progress *progress
	out      io.Writer

	forCommand bool // the hold is for the command of a with-hold
}

// worldOf returns the world of this host. Say, Note and Changed are the caller's to set.
func worldOf(c config.Config) leave.World {
	w := leave.World{
		Status:      client.Daemon{Socket: c.Socket}.Now,
		Every:       client.FollowEvery,
		Runs:        func(ctx context.Context) bool { return daemonRuns(ctx, c.Listen, systemd.AskService) },
		Connections: func(probed string) ([]sockets.Connection, error) { return sockets.Connections(served(c, probed)) },
		Holds:       c.Store(),
		MaxOut:      c.MaxOut,
		Fleet:       fleet.Asker(c.Fleet, c.Probe.Certname),
	}
	if !c.Budget.Database.IsZero() {
		w.Claim = budget.New(c).Claim
	}
	return w
}

// served returns the address where agents reach the master: where the daemon has found it, if no source names it.
func served(c config.Config, probed string) string {
	if c.Probe.Assumed && probed != "" {
		return probed
	}
	return c.Probe.Address
}

func hostOf(c *cli.Context) *host {
	settings := loadAnyway(c)
	h := &host{
		world:    worldOf(settings),
		follow:   client.Daemon{Socket: settings.Socket}.Follow(),
		settings: settings,
		progress: newProgress(c.App.ErrWriter),
		out:      c.App.Writer,
	}
	h.world.Say = h.progress.Say
	h.world.Note = func(line string) { h.progress.Note(c.App.ErrWriter, line) }
	h.world.Changed = func(what string, hold drain.Hold) { h.print("%s: %s", what, hold) }
	return h
}

func (h *host) print(format string, args ...any) {
	h.progress.Note(h.out, fmt.Sprintf(format, args...))
}

func options(c *cli.Context) config.Options {
	return config.Options{File: c.String("config"), Environment: true}
}

// loadAnyway reads the configuration for the commands that an operator and the guard need in an emergency.
// Without Puppet it lacks what only puppet.conf says. If the configuration is broken, loadAnyway complains.
func loadAnyway(c *cli.Context) config.Config {
	o := options(c)
	copied := lastGood{} // of no other file
	if o.File == "" {
		copied = ofRoot()
	}

	settings, from, broken := loadOr(o, copied)
	if broken != nil {
		complaint := &exitError{
			status: exitUsage,
			err:    broken,
			hint:   "mend it; until then this command uses " + cmp.Or(from, "the defaults"),
		}
		complaint.complain(c.App.ErrWriter)
	}
	return settings
}

// loadOr reads a configuration, and keeps a copy. If the configuration is broken, loadOr returns the configuration in
// the last copy, and the copy's path. Without a copy, loadOr returns the defaults, with what can be read of the socket,
// the directories of holds, Puppet's port, the fleet and the budget. The budget cannot be asked then: the defaults have
// no certificate.
func loadOr(o config.Options, copied lastGood) (settings config.Config, from string, broken error) {
	loaded, broken := config.Load(o)
	if broken == nil {
		copied.keep(loaded)
		return loaded.Config, "", nil
	}
	if kept := copied.load(o); kept != nil {
		return kept.Config, copied.Path(), broken
	}

	readable := loaded.Config
	settings = config.Default()
	settings.Socket = readable.Socket
	settings.HoldsIn = readable.HoldsIn
	settings.Probe.Address = readable.Probe.Address
	settings.Fleet = readable.Fleet
	settings.Budget.Database = readable.Budget.Database
	return settings, "", broken
}

// endWithTerminal has the loss of the terminal interrupt the command, whose hold would otherwise wait for no person.
// Under nohup the command goes on.
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
	set, err := leave.Out(c.Context, h.world, r)
	if err == nil {
		h.saysOut(r)
	}
	isHeld := set.Mode != ""
	if !isHeld {
		return set, err
	}

	// with-hold lifts its hold after an error, and renews its end until then.
	if err != nil && !h.forCommand {
		h.world.Note("the hold stays")
	}

	interrupted := c.Context.Err() != nil
	if !interrupted {
		err = errors.Join(err, h.report(c.Context, r.Hold.Service, set))
	}
	if err == nil && r.For > 0 && !h.forCommand {
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

	st, holds, err := h.inEffect(limited, service)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, status.ErrNoService) {
		return err
	}
	if limited.Err() != nil {
		return fmt.Errorf("not in effect: the daemon has not acted on it after %s; see pmcheck status", effectTime)
	}

	if err != nil {
		h.print("cannot tell whether it is in effect: %s; a daemon that starts applies it", err)
	} else {
		h.print("in effect: %s", st.State(service))
	}
	for _, o := range holds {
		if o != own && o.Covers(service) {
			h.print("also held: %s", o)
		}
	}
	return nil
}

// inEffect waits until the daemon has seen the holds that are on disk. It returns the holds with any error.
func (h *host) inEffect(ctx context.Context, service drain.Service) (st status.Status, holds []drain.Hold, err error) {
	for {
		st, err = h.follow(ctx)
		if err == nil {
			_, err = st.Service(service)
		}
		disk := h.world.Holds.Read()
		holds, _ = apart(disk.At(time.Now()).Holds(), disk)
		seen, remembered := apart(st.Holds, disk)
		if err != nil || sameHolds(seen, holds) {
			return st, append(holds, remembered...), err
		}
	}
}

// apart returns the holds in directories that this command can read, and the holds in directories that hang. The daemon
// may know more of the latter.
func apart(holds []drain.Hold, disk drain.Snapshot) (readable, hung []drain.Hold) {
	for _, h := range holds {
		if disk.Hung(h) != nil {
			hung = append(hung, h)
		} else {
			readable = append(readable, h)
		}
	}
	return readable, hung
}

// sameHolds reports whether a daemon has seen the holds that are on disk.
func sameHolds(seen, disk []drain.Hold) bool {
	seen = ofParties(seen)
	disk = ofParties(disk)
	if len(seen) != len(disk) {
		return false
	}
	for _, h := range disk {
		isSeen := slices.ContainsFunc(seen, func(s drain.Hold) bool { return isSameHold(s, h) })
		if !isSeen {
			return false
		}
	}
	return true
}

// ofParties returns the holds that parties have set. A hold because of a directory is left out: the daemon has a view
// of its own of the directories.
func ofParties(holds []drain.Hold) (list []drain.Hold) {
	for _, h := range holds {
		if h.Holder != drain.Directory {
			list = append(list, h)
		}
	}
	return list
}

func isSameHold(seen, disk drain.Hold) bool {
	isSameFile := seen.Holder == disk.Holder && seen.Service == disk.Service && seen.UntilReboot == disk.UntilReboot
	if !isSameFile {
		return false
	}

	// The daemon may be unable to read a hold that root can read.
	if seen.Code != "" {
		return true
	}
	return seen.Mode == disk.Mode && seen.Leaving == disk.Leaving
}
