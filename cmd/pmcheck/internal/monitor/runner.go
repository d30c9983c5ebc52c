package monitor

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// hurriedInterval is the interval of an urgent check while a command may wait for its
// finding: for the last JRuby to be ready after a start, or, while the master is held,
// for the last request to be done.
const hurriedInterval = 500 * time.Millisecond

// signals go from the loop to the runners.
type signals struct {
	restarted atomic.Bool // a check that remembers the master must start over
	closed    atomic.Bool // with restarted: the master refused connections meanwhile
	held      atomic.Bool // the master is held, so a command may wait for its last request
	calm      atomic.Bool // nothing is wrong
}

// runner runs one check on a schedule of its own, so that no check delays another.
type runner struct {
	check.Scheduled
	name    string
	kick    chan struct{} // run it now
	signals *signals
	idle    func(since check.Finding) bool // no agent has used the master
}

// found is a finding, and the request behind it as the result of a probe; nil if it proves
// nothing. See [check.Scheduled].
type found struct {
	check.Finding
	reading *check.Result
}

func (r *runner) once(ctx context.Context) found {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if r.Restarted != nil && r.signals.restarted.Swap(false) {
		r.Restarted(r.signals.closed.Load())
	}
	f := found{Finding: r.Check(ctx)}
	if r.Reading != nil {
		f.reading = r.Reading()
	}
	return f
}

func (r *runner) close() {
	if r.Client != nil {
		r.Client.Close()
	}
}

// run runs the check repeatedly until ctx ends.
func (r *runner) run(ctx context.Context, to chan<- found) {
	defer r.close()
	for {
		f := r.once(ctx)
		if !send(ctx, to, f) {
			return
		}
		if !r.rest(ctx, f.Finding) {
			return
		}
	}
}

// rest waits until the next run is due, and reports whether ctx has not ended by then. While all
// is well, runs are left out if the master has been idle since the last one.
func (r *runner) rest(ctx context.Context, f check.Finding) bool {
	pause := r.pause(f)
	mayLeaveOut := f.State == check.StateOK && pause == r.Interval
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for rest := pause; ; rest += pause {
		select {
		case <-timer.C:
			if !mayLeaveOut || rest+pause > r.Unused || !r.idle(f) {
				return true
			}
			timer.Reset(pause)
		case <-r.kick:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// pause returns the time from a finding to the next run.
func (r *runner) pause(f check.Finding) time.Duration {
	if r.Urgent && (r.signals.held.Load() || f.Health == check.Warming) {
		return min(r.Interval, hurriedInterval)
	}
	return r.Interval
}

// maxAge returns how old a finding of the check may be before it is stale. It leaves
// room for a run that failed.
func (r *runner) maxAge() time.Duration { return max(r.Interval, r.Unused) + 2*r.Interval + r.Timeout }

// newRunners returns the runners of the scheduled checks of a configuration.
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
		list = append(list, &runner{
			Scheduled: *scheduled,
			name:      wanted.Name,
			kick:      make(chan struct{}, 1),
			signals:   s,
		})
	}
	return list
}
