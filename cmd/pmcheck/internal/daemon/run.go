package daemon

import (
	"context"
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

// follow reloads, looks again at a configuration that is in doubt, and updates the status line of the service manager,
// until ctx ends. It reads no file itself.
func (d *Daemon) follow(ctx context.Context, reload <-chan os.Signal) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	said, turned := "", d.monitor.State().Published
	reloads, looks, busy := false, false, false
	done := make(chan reading, 1)
	for {
		if now := d.Summary(); now != said {
			said = now
			d.notify(systemd.Status(now))
		}
		turned = d.feedWatchdog(turned)

		// One reading at a time: a reload waits for the end of a second look.
		if !busy && (reloads || looks) {
			d.read(reloads, done)
			busy = true
			reloads, looks = false, false
		}

		select {
		case <-ctx.Done():
			return
		case <-reload:
			d.notify(systemd.Reloading())
			d.monitor.AcceptHolds()
			reloads = true
		case <-tick.C:
			looks = d.inDoubt()
		case r := <-done:
			busy = false
			if r.reload {
				d.reload(r)
				d.notify(systemd.Ready(d.Summary()))
			} else {
				d.lookAgain(r)
			}
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
