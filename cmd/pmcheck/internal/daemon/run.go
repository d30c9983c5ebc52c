package daemon

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// keepEvery is how often a daemon without Puppet looks for Puppet's files, and how often the
// status line of the service manager is compared with a state that nothing renews: what it
// says expires.
const keepEvery = 5 * time.Second

// Keeper keeps the configuration of a daemon and the service manager's view of
// it up to date.
type Keeper struct {
	// Load reads the configuration again.
	Load func() (*config.Loaded, error)
	// Reload delivers the requests for a reload.
	Reload <-chan os.Signal
	// PuppetMissing is not nil if Puppet's files are missing. Load is then called until it
	// succeeds.
	PuppetMissing error
	// Last is where a configuration is kept that a restart would survive.
	Last LastGood
}

// Run serves until ctx ends, notifies the service manager and follows reloads.
func (d *Daemon) Run(ctx context.Context, k Keeper) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.Serve(ctx) })
	group.Go(func() error { return d.feedWatchdog(ctx) })
	group.Go(func() error {
		d.waitForVerdict(ctx)
		if ctx.Err() == nil {
			d.notify(systemd.Ready(d.Summary()))
		}
		k.keep(ctx, d)
		return nil
	})
	return group.Wait()
}

// keep follows reloads and updates the status line of the service manager until ctx ends.
func (k *Keeper) keep(ctx context.Context, d *Daemon) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	said := ""
	for {
		_, published := d.states.now()
		if now := d.Summary(); now != said {
			said = now
			d.notify(systemd.Status(now))
		}
		if k.PuppetMissing == nil {
			tick.Reset(keepEvery) // nothing expires in a state that is renewed
		}
		select {
		case <-ctx.Done():
			d.notify(systemd.Stopping())
			return
		case <-k.Reload:
			k.reload(d)
		case <-published:
		case <-tick.C:
			if k.PuppetMissing != nil {
				k.PuppetMissing = k.load(d)
			}
		}
	}
}

func (k *Keeper) reload(d *Daemon) {
	failed := systemd.Reloading()
	d.monitor.AcceptHolds()
	if err := k.load(d); err != nil {
		d.ReloadFailed(err)
	} else {
		k.PuppetMissing = nil
	}
	d.notify(errors.Join(failed, systemd.Ready(d.Summary())))
}

// load reads the configuration again and makes the daemon use it.
func (k *Keeper) load(d *Daemon) error {
	loaded, err := k.Load()
	if err != nil {
		return err
	}
	for _, w := range loaded.Warnings {
		d.Log.Warn(w)
	}
	d.Reload(loaded.Config, loaded.File)
	if d.survives(loaded.Config) {
		k.Last.keep(loaded, d.Log)
	}
	return nil
}

// notify logs a notification that failed. Balancers are answered all the same.
func (d *Daemon) notify(err error) {
	if err != nil {
		d.Log.Warn("cannot notify systemd", "error", err)
	}
}

// feedWatchdog notifies the service manager's watchdog after a turn of the monitor's loop,
// which turns at least every 5 s, until ctx ends. Without a watchdog it does nothing.
func (d *Daemon) feedWatchdog(ctx context.Context) error {
	within, err := systemd.Watchdog()
	if within == 0 || err != nil {
		return err
	}
	last := d.monitor.State().Published // perhaps not by the loop
	for ctx.Err() == nil {
		_, published := d.states.now()
		turned := d.monitor.State().Published
		if turned.Equal(last) {
			waitFor(ctx, published)
			continue
		}
		last = turned
		d.notify(systemd.Ping())
		waitFor(ctx, time.After(within/3)) // the loop may turn many times a second
	}
	return nil
}

// UseLittle keeps the daemon from running on more than one CPU at a time, unless
// GOMAXPROCS is set. With more CPUs the runtime wakes a second thread for each
// request, to look for work that does not exist: at a thousand requests a second
// that is a third of the daemon's CPU time (make bench). One CPU answers twenty
// times as many, and leaves the others to Puppet.
//
// Unless GOGC is set, garbage is collected when it is half as large as the rest of the heap,
// not as large: that takes 2 MiB from the resident memory. The collections are so few that
// twice as many do not show.
func UseLittle() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}
