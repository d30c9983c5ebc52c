package monitor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// hurriedInterval is how often the pool is read while a command may wait for it:
// for the last JRuby to be ready after a start, or, while the master is held,
// for the last request to be done.
const hurriedInterval = 500 * time.Millisecond

// weighEvery is how often the pool is read while weights are derived from it. A
// reading costs Puppet Server 2 ms of CPU.
const weighEvery = time.Second

// longHandshake is how long the connections beside the probe's are kept.
const longHandshake = 10 * time.Minute

// databaseTimeout is how long PuppetDB may take to answer. When it cannot reach
// its database it tries for seconds before it says so.
const databaseTimeout = 10 * time.Second

// signals go from the loop to the runners.
type signals struct {
	restarted atomic.Bool // the check of the pool must start over
	held      atomic.Bool // the master is held, so a command may wait for its end
}

// runner makes one check on a schedule of its own, so that no check delays
// another.
type runner struct {
	name     string
	interval time.Duration // between two checks, and what their age is measured by
	often    time.Duration // a shorter pause between two checks; 0 if there is no need
	timeout  time.Duration
	kick     chan struct{} // make it now
	check    func(context.Context) check.Finding
	client   *check.Client // what it asks the master with; nil if it does not
	hurry    func() bool   // a command may wait; nil if none ever does
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

// newRunners makes the runners of a configuration. What is asked of the master
// beside the probe shares a client. Its connection is kept for long, since the
// probe watches the certificates.
func newRunners(c config.Config, credentials *check.Credentials, s *signals) []*runner {
	var (
		details  = newClient(c.Probe, credentials)
		database = newClient(c.Probe, credentials)
		compiler = newClient(c.Probe, credentials)
		disk     = check.Disk{
			Paths:       c.Disk.Paths,
			Reads:       c.Disk.Reads,
			WarnPercent: c.Disk.WarnPercent,
			EjectMiB:    c.Disk.EjectMiB,
		}
		code     = check.Code{Dir: c.Code.Dir}
		puppetdb = check.PuppetDB{Client: &database}
		compile  = check.Compile{
			Client:      &compiler,
			Certname:    c.Probe.Certname,
			Environment: c.Probe.Environment,
			SlowAfter:   c.Compile.SlowAfter,
		}
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
	add(true, c.Checks.JRuby, runner{
		name:     check.CheckJRuby,
		interval: c.JRuby.Interval,
		often:    often(c.Agent),
		timeout:  quick,
		check:    jrubyCheck(&details, c.JRuby, s),
		client:   &details,
		hurry:    s.held.Load,
	})
	add(true, c.Checks.Disk, runner{
		name:     check.CheckDisk,
		interval: c.Disk.Interval,
		timeout:  quick,
		check:    disk.Check,
	})
	add(c.Code.Dir != "", c.Checks.Code, runner{
		name:     check.CheckCode,
		interval: c.Code.Interval,
		timeout:  c.Code.Interval,
		check:    code.Check,
	})
	add(c.PuppetDB.Address != "", c.Checks.PuppetDB, runner{
		name:     check.CheckPuppetDB,
		interval: c.PuppetDB.Interval,
		timeout:  databaseTimeout,
		check:    puppetdb.Check,
		client:   &database,
	})
	add(true, c.Checks.Compile, runner{
		name:     check.CheckCompile,
		interval: c.Compile.Interval,
		timeout:  c.Compile.Timeout,
		check:    compile.Check,
		client:   &compiler,
	})
	return list
}

// often is how often the pool must be read for the sake of the weight.
func often(c config.Agent) time.Duration {
	if c.Weight {
		return weighEvery
	}
	return 0
}

// jrubyCheck is the check of the pool. It forgets what it saw when the master
// may have been started anew.
func jrubyCheck(client *check.Client, c config.JRuby, s *signals) func(context.Context) check.Finding {
	pool := &check.JRuby{Client: client, WarmingMax: c.WarmingMax, StuckAfter: c.StuckAfter}
	return func(ctx context.Context) check.Finding {
		if s.restarted.Swap(false) {
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
