package daemon

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/systemd"
)

// follow reloads, reads Puppet's configuration when it has changed, and updates the status line of the service manager,
// until ctx ends. It reads no file itself.
func (d *Daemon) follow(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	said := ""
	turned := d.monitor.State().Published
	reloads := false // a reload is due
	puppet := false  // it is time to read Puppet's configuration
	busy := false    // a reading is under way
	done := make(chan reading, 1)
	for {
		if now := d.Summary(); now != said {
			said = now
			d.notify(systemd.Status(now))
		}
		turned = d.feedWatchdog(turned)

		// One reading at a time: a reload waits for the end of the other.
		if !busy && reloads {
			d.source.read(done)
			busy = true
			reloads = false
		} else if !busy && puppet {
			d.source.readPuppet(d.loaded, d.refuted(), done)
			busy = true
			puppet = false
		}

		select {
		case <-ctx.Done():
			return
		case <-d.reloads:
			d.notify(systemd.Reloading())
			d.monitor.AcceptHolds()
			reloads = true
		case <-tick.C:
			puppet = true
		case r := <-done:
			busy = false
			d.take(r)
		}
	}
}

// notify logs a notification that failed. Balancers are answered all the same.
func (d *Daemon) notify(err error) {
	if err != nil {
		d.log.Warn("cannot notify systemd", "error", err)
	}
}

// feedWatchdog notifies the service manager's watchdog if the monitor's loop has turned since turned, which it does at
// least every 5 s, and returns when it has turned last.
func (d *Daemon) feedWatchdog(turned time.Time) time.Time {
	last := d.monitor.State().Published
	if !last.Equal(turned) {
		d.notify(systemd.Ping())
	}
	return last
}

// take uses what was read, if it is wanted.
func (d *Daemon) take(r reading) {
	if !r.reload {
		d.takePuppet(r)
		return
	}

	if r.mistakes != nil {
		d.refuse("configuration not reloaded, the old one stays in use", r.mistakes)
	} else {
		d.use(r.loaded)
	}
	d.notify(systemd.Ready(d.Summary()))
}

// refuse records that a newer configuration is not in use, and why. The message says what is.
func (d *Daemon) refuse(message string, err error) {
	d.log.Error(message, "error", err)

	newer := *d.config.Load()
	newer.Error = err.Error()
	d.config.Store(&newer)
}

// refuted reports whether the master shows that an identity that puppet.conf no longer has is not its own any more.
func (d *Daemon) refuted() bool {
	isPending := d.settings.Load().Checks.Identity().Doubt == check.CertificatePending
	return isPending && d.monitor.State().Result.RefutesIdentity()
}

// takePuppet uses what Puppet's configuration says now: an operator who corrects puppet.conf, or gives the
// host another name, has nothing to reload.
func (d *Daemon) takePuppet(r reading) {
	if r.mistakes != nil || r.loaded == d.loaded {
		return
	}
	if r.loaded.Equal(d.loaded) {
		d.loaded = r.loaded // which knows the files as they are now
		return
	}

	mistakes := d.config.Load().Error // in pmcheck.yaml
	d.use(r.loaded)
	current := *d.config.Load()
	current.Error = mistakes
	d.config.Store(&current)
}

// use replaces the configuration in use.
func (d *Daemon) use(loaded *config.Loaded) {
	before := d.settings.Load()
	d.apply(loaded)
	d.logDoubt(before.Checks.Identity())
	d.believe(before.Balancers, loaded.Config.Balancers)
	d.monitor.Reload(loaded.Config)
	d.log.Info("configuration reloaded", "file", loaded.File)
	d.keep()
}

// believe has the clients count as balancers that the configuration lists now.
func (d *Daemon) believe(before, now []netip.Prefix) {
	d.balancers.Believe(now)
	if slices.Equal(before, now) {
		return
	}

	d.unlisted.Forget()
	// Those that are listed now, and were not, have not been heard.
	believedAll := len(before) == 0
	if !believedAll {
		listens := time.Now()
		d.listens.Store(&listens)
	}
}

// apply makes a configuration the one in use, for what does not read its settings only once.
func (d *Daemon) apply(loaded *config.Loaded) {
	d.level.Set(loaded.Config.Log.Level.Level())
	d.loaded = loaded
	d.settings.Store(&loaded.Config)
	d.ignored.Store(&loaded.Ignored)
	d.config.Store(&status.ConfigStatus{File: loaded.File, Loaded: time.Now()})
}

// keep saves the configuration in use for a start while one of its files is broken.
func (d *Daemon) keep() {
	if err := d.source.keep(d.loaded); err != nil {
		d.log.Warn("cannot save a copy of this configuration for a restart with a broken file", "error", err)
	}
}

// logDoubt logs a doubt about Puppet's configuration that began, changed or ended.
func (d *Daemon) logDoubt(before check.IdentitySettings) {
	now := d.settings.Load().Checks.Identity()
	if now == before {
		return
	}

	if now.Doubt == "" {
		d.log.Info("Puppet's configuration says all that pmcheck needs")
		return
	}
	d.log.Warn("Puppet's configuration does not say all that pmcheck needs", "reason", now.Doubt, "detail", now.Detail,
		"hint", check.Hint(now.Doubt))
}
