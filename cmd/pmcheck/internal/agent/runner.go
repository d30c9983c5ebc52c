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

// runner makes one check on a schedule of its own, so that no check delays
// another.
type runner struct {
	check.Scheduled
	name  string
	kick  chan struct{} // make it now
	hurry func() bool   // a wait may end with it; nil if none ever does
	often time.Duration // at the longest, whatever the interval; 0 if there is no need
}

// once makes the check one time.
func (r *runner) once(ctx context.Context) check.Finding {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
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
		pause := r.Interval
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
func (r *runner) maxAge() time.Duration { return 3*r.Interval + r.Timeout }

// runners makes the runners of the scheduled checks of a configuration.
func (l *loop) runners(c config.Config) []*runner {
	host := check.Host{
		Address:     c.Probe.Address,
		Certname:    c.Probe.Certname,
		Environment: c.Probe.Environment,
		Credentials: l.credentials,
		Timeout:     c.Probe.Timeout,
		Handshake:   c.Probe.Handshake,
	}
	var list []*runner
	for _, wanted := range c.Checks {
		if wanted.Severity == check.Off || wanted.Schedule == nil {
			continue
		}
		scheduled := wanted.Schedule(host)
		if scheduled == nil {
			continue
		}
		r := &runner{Scheduled: *scheduled, name: wanted.Name, kick: make(chan struct{}, 1)}
		if r.Restarted != nil {
			r.Check = l.startOver(scheduled)
		}
		if r.Urgent {
			r.hurry, r.often = l.held.Load, often(c.Agent)
		}
		list = append(list, r)
	}
	return list
}

// startOver makes a check forget what it saw when the master may have been started
// anew.
func (l *loop) startOver(s *check.Scheduled) func(context.Context) check.Finding {
	return func(ctx context.Context) check.Finding {
		if l.restarted.Swap(false) {
			s.Restarted()
		}
		return s.Check(ctx)
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
