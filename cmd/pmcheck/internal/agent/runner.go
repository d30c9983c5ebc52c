package agent

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// warmingInterval is how often the pool is looked at while it fills: the
// master is kept out meanwhile, so it should not take long to notice the end.
const warmingInterval = 500 * time.Millisecond

// runner makes one check on a schedule of its own, so that no check delays
// another.
type runner struct {
	name     string
	interval time.Duration
	timeout  time.Duration
	kick     chan struct{} // make it now
	check    func(context.Context) check.Finding
}

// run makes the check until ctx ends.
func (r *runner) run(ctx context.Context, found chan<- check.Finding) {
	for {
		limited, cancel := context.WithTimeout(ctx, r.timeout)
		f := r.check(limited)
		cancel()
		select {
		case found <- f:
		case <-ctx.Done():
			return
		}
		pause := r.interval
		if f.Health == check.Warming {
			pause = min(pause, warmingInterval)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-r.kick:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// maxAge is how old a finding of the check may be and still be believed. It
// leaves room for one that failed.
func (r *runner) maxAge() time.Duration { return 3*r.interval + r.timeout }

// runners makes the runners of a configuration.
func (l *loop) runners(c config.Config) []*runner {
	var list []*runner
	add := func(name string, severity config.Severity, interval, timeout time.Duration, ask func(context.Context) check.Finding) {
		if severity != config.SeverityOff {
			list = append(list, &runner{name: name, interval: interval, timeout: timeout, kick: make(chan struct{}, 1), check: ask})
		}
	}
	// One client for what is asked of the master beside the probe. Its
	// connection is kept for long: the probe watches the certificates.
	details := newClient(c.Probe)
	details.Handshake = 10 * time.Minute
	add(check.CheckJRuby, c.Checks.JRuby, c.JRuby.Interval, c.Probe.Timeout, l.jrubyCheck(&details, c.JRuby))
	disk := check.Disk{Paths: c.Disk.Paths, WarnPercent: c.Disk.WarnPercent, EjectMiB: c.Disk.EjectMiB}
	add(check.CheckDisk, c.Checks.Disk, c.Disk.Interval, c.Probe.Timeout, disk.Check)
	if c.PuppetDB.Address != "" {
		client := newClient(c.Probe)
		client.Address, client.ServerName = c.PuppetDB.Address, c.PuppetDB.ServerName()
		client.Handshake = 10 * time.Minute
		db := check.PuppetDB{Client: &client}
		add(check.CheckPuppetDB, c.Checks.PuppetDB, c.PuppetDB.Interval, c.Probe.Timeout, db.Check)
	}
	return list
}

// jrubyCheck is the check of the pool, which forgets what it saw when the
// master may have been started anew.
func (l *loop) jrubyCheck(client *check.Client, c config.JRuby) func(context.Context) check.Finding {
	pool := &check.JRuby{Client: client, WarmingMax: c.WarmingMax, StuckAfter: c.StuckAfter}
	return func(ctx context.Context) check.Finding {
		if l.restarted.Swap(false) {
			pool.Restarted()
		}
		return pool.Check(ctx)
	}
}

// watchUnit passes on what systemd says of the master's unit.
func watchUnit(ctx context.Context, names []string, units chan<- systemd.UnitState) {
	systemd.WatchUnit(ctx, names, func(u systemd.UnitState) {
		select {
		case units <- u:
		case <-ctx.Done():
		}
	})
}
