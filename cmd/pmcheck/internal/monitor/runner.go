package monitor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/systemd"
)

// hurriedInterval is how often an urgent check is made while a command may wait
// for it: for the last JRuby to be ready after a start, or, while the master is
// held, for the last request to be done.
const hurriedInterval = 500 * time.Millisecond

// weighEvery is how often the pool is read while weights are derived from it. A
// reading costs Puppet Server 2 ms of CPU.
const weighEvery = time.Second

// signals go from the loop to the runners.
type signals struct {
	restarted atomic.Bool // a check that remembers the master must start over
	held      atomic.Bool // the master is held, so a command may wait for its end
}

// runner makes one check on a schedule of its own, so that no check delays
// another.
type runner struct {
	check.Scheduled
	name    string
	kick    chan struct{} // make it now
	signals *signals
	often   time.Duration // a shorter pause between two checks; 0 if there is no need
}

// once makes the check one time.
func (r *runner) once(ctx context.Context) check.Finding {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if r.Restarted != nil && r.signals.restarted.Swap(false) {
		r.Restarted()
	}
	return r.Check(ctx)
}

// close ends the connections of the check.
func (r *runner) close() {
	if r.Client != nil {
		r.Client.Close()
	}
}

// run makes the check until ctx ends.
func (r *runner) run(ctx context.Context, found chan<- check.Finding) {
	defer r.close()
	for {
		f := r.once(ctx)
		select {
		case found <- f:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(r.pause(f))
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

// pause is the time to the next check after a finding.
func (r *runner) pause(f check.Finding) time.Duration {
	pause := r.Interval
	if r.often > 0 {
		pause = min(pause, r.often)
	}
	if r.Urgent && (r.signals.held.Load() || f.Health == check.Warming) {
		pause = min(pause, hurriedInterval)
	}
	return pause
}

// maxAge is how old a finding of the check may be and still be believed. It
// leaves room for one that failed.
func (r *runner) maxAge() time.Duration { return 3*r.Interval + r.Timeout }

// newRunners makes the runners of the scheduled checks of a configuration.
func newRunners(c config.Config, host check.Host, s *signals) []*runner {
	var list []*runner
	for _, wanted := range c.Checks {
		if wanted.Severity == check.Off || wanted.Schedule == nil {
			continue
		}
		scheduled := wanted.Schedule(host)
		if scheduled == nil {
			continue
		}
		r := &runner{Scheduled: *scheduled, name: wanted.Name, kick: make(chan struct{}, 1), signals: s}
		if r.Urgent && c.Agent.Weight {
			r.often = weighEvery
		}
		list = append(list, r)
	}
	return list
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
