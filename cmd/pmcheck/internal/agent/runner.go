package agent

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// hurriedInterval is how often the pool is looked at while somebody waits for
// it: for the last JRuby to be ready after a start, or, while the master is
// held, for the last request to be done.
const hurriedInterval = 500 * time.Millisecond

// longHandshake is how long the connections beside the probe's are kept.
const longHandshake = 10 * time.Minute

// databaseTimeout is how long PuppetDB may take to say how it is. Without its
// database it tries for seconds to reach it before it says so.
const databaseTimeout = 10 * time.Second

// runner makes one check on a schedule of its own, so that no check delays
// another.
type runner struct {
	name     string
	interval time.Duration
	timeout  time.Duration
	kick     chan struct{} // make it now
	check    func(context.Context) check.Finding
	client   *check.Client // what it asks the master with, if it does
	hurry    func() bool   // somebody waits; nil if nobody ever does
	often    time.Duration // at the longest, whatever the interval; 0 if there is no need
}

// run makes the check until ctx ends.
func (r *runner) run(ctx context.Context, found chan<- check.Finding) {
	if r.client != nil {
		defer r.client.Close()
	}
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
		if r.often > 0 {
			pause = min(pause, r.often)
		}
		if r.hurry != nil && (r.hurry() || f.Health == check.Warming) {
			pause = min(pause, hurriedInterval)
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

// runners makes the runners of a configuration. What is asked of the master
// beside the probe shares a client; its connection is kept for long, since the
// probe watches the certificates.
func (l *loop) runners(c config.Config) []*runner {
	var (
		details  = newClient(c.Probe, l.credentials)
		database = newClient(c.Probe, l.credentials)
		compiler = newClient(c.Probe, l.credentials)
		disk     = check.Disk{Paths: c.Disk.Paths, Reads: c.Disk.Reads, WarnPercent: c.Disk.WarnPercent, EjectMiB: c.Disk.EjectMiB}
		code     = check.Code{Dir: c.Code.Dir}
		puppetdb = check.PuppetDB{Client: &database}
		compile  = check.Compile{Client: &compiler, Certname: c.Probe.Certname, Environment: c.Probe.Environment, SlowAfter: c.Compile.SlowAfter}
	)
	details.Handshake, database.Handshake = longHandshake, longHandshake
	database.Address, database.ServerName = c.PuppetDB.Address, c.PuppetDB.ServerName()
	database.Timeout, compiler.Timeout = databaseTimeout, c.Compile.Timeout

	var list []*runner
	add := func(wanted bool, severity config.Severity, r runner) {
		if wanted && severity != config.SeverityOff {
			r.kick = make(chan struct{}, 1)
			list = append(list, &r)
		}
	}
	quick := c.Probe.Timeout
	add(true, c.Checks.JRuby, runner{name: check.CheckJRuby, interval: c.JRuby.Interval, timeout: quick, check: l.jrubyCheck(&details, c.JRuby), client: &details, hurry: l.held.Load, often: often(c.Agent)})
	add(true, c.Checks.Disk, runner{name: check.CheckDisk, interval: c.Disk.Interval, timeout: quick, check: disk.Check})
	add(c.Code.Dir != "", c.Checks.Code, runner{name: check.CheckCode, interval: c.Code.Interval, timeout: c.Code.Interval, check: code.Check})
	add(c.PuppetDB.Address != "", c.Checks.PuppetDB, runner{name: check.CheckPuppetDB, interval: c.PuppetDB.Interval, timeout: databaseTimeout, check: puppetdb.Check, client: &database})
	add(true, c.Checks.Compile, runner{name: check.CheckCompile, interval: c.Compile.Interval, timeout: c.Compile.Timeout, check: compile.Check, client: &compiler})
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
