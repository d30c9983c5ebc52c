package daemon

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/systemd"
)

// Run serves until ctx ends, notifies the service manager, and reads the configuration again when reload delivers.
func (d *Daemon) Run(ctx context.Context, reload <-chan os.Signal) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.Serve(ctx) })
	group.Go(func() error {
		d.waitForVerdict(ctx)
		if ctx.Err() == nil {
			d.notify(systemd.Ready(d.Summary()))
		}
		d.follow(ctx, reload)
		d.notify(systemd.Stopping())
		return nil
	})
	return group.Wait()
}

// follow reloads, and updates the status line of the service manager, until ctx ends.
func (d *Daemon) follow(ctx context.Context, reload <-chan os.Signal) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	said, turned := "", d.monitor.State().Published
	for {
		if now := d.Summary(); now != said {
			said = now
			d.notify(systemd.Status(now))
		}
		turned = d.feedWatchdog(turned)
		select {
		case <-ctx.Done():
			return
		case <-reload:
			failed := systemd.Reloading()
			d.monitor.AcceptHolds()
			if err := d.reload(); err != nil {
				d.Refuse("configuration not reloaded, the old one stays in use", err)
			}
			d.notify(errors.Join(failed, systemd.Ready(d.Summary())))
		case <-tick.C:
			d.lookAgain()
		}
	}
}

// notify logs a notification that failed. Balancers are answered all the same.
func (d *Daemon) notify(err error) {
	if err != nil {
		d.Log.Warn("cannot notify systemd", "error", err)
	}
}

// feedWatchdog notifies the service manager's watchdog if the monitor's loop has turned since it turned last, which it
// does at least every 5 s, and returns when that was.
func (d *Daemon) feedWatchdog(turned time.Time) time.Time {
	last := d.monitor.State().Published
	if !last.Equal(turned) {
		d.notify(systemd.Ping())
	}
	return last
}
