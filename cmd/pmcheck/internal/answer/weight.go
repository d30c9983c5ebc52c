package answer

import (
	"math"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
)

const (
	// weightSmooth is the time constant of the average. With a shorter one,
	// weights oscillate: the balancer sends every agent to the idle master, which is
	// then the busy one at the next reading.
	weightSmooth = 3 * time.Second
	// weightStep is the smallest change that is sent, as a fraction of the weight.
	weightStep = 0.1
	// rampTime is how long a master takes to reach full weight after it came up,
	// because its JRubies have compiled nothing yet.
	rampTime = time.Minute
	// rampStart is the fraction of the weight with which the ramp begins.
	rampStart = 0.1
)

// The weights in percent. HAProxy treats 0 as a drain, so 0 is never sent.
const (
	minWeight = 1
	// FullWeight is the weight of an idle master.
	FullWeight = 100
)

// Weigher computes a weight from successive states of the JRuby pool. The zero value
// is ready to use; it is not safe for concurrent use.
type Weigher struct {
	room float64   // in the pool, smoothed
	read time.Time // when the pool was read last; zero if it never was
	cold bool      // the master was seen out of service
	rose time.Time // when it came up after that; zero once it is warm
	told int       // the last weight; 0 before the first
}

// Weigh takes a new state into account and returns the weight for agent-checks, in
// percent.
func (w *Weigher) Weigh(s *monitor.State, now time.Time) int {
	var jruby check.Finding
	for _, f := range s.Findings {
		if f.Check == check.CheckJRuby {
			jruby = f
		}
	}
	server, _ := s.Service(monitor.Server)
	return w.weigh(jruby.Pool, jruby.Checked, server.Verdict, now)
}

// weigh returns the weight of a master with this verdict, whose pool was read at
// read. If the pool was never read, as with older servers, only the ramp reduces the
// weight.
func (w *Weigher) weigh(pool *check.Pool, read time.Time, v check.Verdict, now time.Time) int {
	switch {
	case pool == nil && (w.read.IsZero() || v.Reason == check.JRubyUnread):
		w.room, w.read = 1, time.Time{}
	case pool == nil: // possibly too busy to answer: the last reading stands
	case w.read.IsZero():
		w.room, w.read = room(pool), read
	case read.After(w.read):
		latest := 1 - math.Exp(-read.Sub(w.read).Seconds()/weightSmooth.Seconds())
		w.room += latest * (room(pool) - w.room)
		w.read = read
	}
	weight := int(math.Round(FullWeight * w.room * w.ramp(v, now)))
	weight = min(max(weight, minWeight), FullWeight)
	extreme := weight == minWeight || weight == FullWeight
	if w.told == 0 || extreme || math.Abs(float64(weight-w.told)) >= weightStep*float64(w.told) {
		w.told = weight
	}
	return w.told
}

// room returns the fraction of the pool that one more request can expect: all of it
// while the pool is idle, half of it when every instance is at work, a third when as
// many requests wait, and so on. Unlike a count of free instances, it distinguishes
// two masters that are full: the one with the shorter queue has more room. Instances
// that are not ready do not count.
func room(p *check.Pool) float64 {
	demand := len(p.Borrowed) + len(p.Waiting)
	return min(1, float64(p.Ready())/float64(p.Size+demand))
}

// ramp returns the fraction of its weight that a master has reached since it came up.
// A master that was up before the daemon started is warm.
func (w *Weigher) ramp(v check.Verdict, now time.Time) float64 {
	switch {
	case v.Health == check.Unknown, v.Reason == check.JRubyUnread:
		// The pool has not been read, which does not mean that the master was out.
	case !v.Health.Serves():
		w.cold, w.rose = true, time.Time{}
	case w.cold:
		w.cold, w.rose = false, now
	}
	up := now.Sub(w.rose)
	switch {
	case w.cold:
		return rampStart
	case w.rose.IsZero() || up >= rampTime:
		w.rose = time.Time{}
		return 1
	}
	return rampStart + (1-rampStart)*up.Seconds()/rampTime.Seconds()
}
