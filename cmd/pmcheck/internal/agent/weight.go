package agent

import (
	"fmt"
	"math"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// weighEvery is how often the pool is looked at while weights are derived from
// it. A look costs Puppet Server 2 ms of CPU.
const weighEvery = time.Second

const (
	// weightSmooth is how long a change of the load takes to show for the most
	// part. Shorter than this, weights swing: a balancer that sends everything to
	// the idle master has made it the busy one by the next look.
	weightSmooth = 3 * time.Second
	// weightStep is the change, as a part of the weight, below which it is not told.
	weightStep = 0.1
	// rampTime is how long a master that comes up takes to full weight: its
	// JRubies have compiled nothing yet.
	rampTime = time.Minute
	// rampStart is the part of the weight that it begins with.
	rampStart = 0.1
)

// The weights in percent. HAProxy takes 0 for a drain, so it is never told.
const (
	minWeight  = 1
	fullWeight = 100
)

// weigher makes a weight out of the JRuby pool. It belongs to the loop.
type weigher struct {
	room float64   // in the pool, smoothed
	read time.Time // when the pool taken in last was looked at; zero if there is none
	cold bool      // the master was seen out
	rose time.Time // when it came up after that; zero once it is warm
	told int       // the weight; 0 before the first
}

// weigh returns the weight for agent-checks, which is full unless it is to
// follow the pool.
func (l *loop) weigh(s *state, now time.Time) int {
	if !l.config.Agent.Weight {
		l.weigher = weigher{}
		return fullWeight
	}
	server, _ := s.find(Server)
	for _, f := range s.findings {
		if f.Check == check.CheckJRuby {
			return l.weigher.weigh(f.Pool, f.Checked, server.verdict, now)
		}
	}
	return l.weigher.weigh(nil, time.Time{}, server.verdict, now)
}

// often is how often the pool has to be looked at for the sake of the weight.
func often(c config.Agent) time.Duration {
	if c.Weight {
		return weighEvery
	}
	return 0
}

// weigh returns the weight for a master of this verdict, whose pool was looked
// at then. Of a pool that was never seen, as with older servers, the weight is
// full but for the ramp.
func (w *weigher) weigh(pool *check.Pool, read time.Time, v check.Verdict, now time.Time) int {
	switch {
	case pool == nil && (w.read.IsZero() || v.Reason == check.JRubyUnread):
		w.room, w.read = 1, time.Time{}
	case pool == nil: // too busy to be asked, perhaps: what was seen last stands
	case w.read.IsZero():
		w.room, w.read = room(pool), read
	case read.After(w.read):
		latest := 1 - math.Exp(-read.Sub(w.read).Seconds()/weightSmooth.Seconds())
		w.room += latest * (room(pool) - w.room)
		w.read = read
	}
	weight := int(math.Round(fullWeight * w.room * w.ramp(v, now)))
	weight = min(max(weight, minWeight), fullWeight)
	extreme := weight == minWeight || weight == fullWeight
	if w.told == 0 || extreme || math.Abs(float64(weight-w.told)) >= weightStep*float64(w.told) {
		w.told = weight
	}
	return w.told
}

// room is the part of the pool that one more request can count on: all of it
// while the pool is idle, half when every instance is at work, a third when as
// many requests wait again, and so on. It does not end at a full pool, where
// free instances do: of two full masters the one with the shorter queue is the
// better choice. Instances that are not ready are no room.
func room(p *check.Pool) float64 {
	demand := len(p.Borrowed) + len(p.Waiting)
	return min(1, float64(p.Ready())/float64(p.Size+demand))
}

// ramp is the part of its weight that a master has reached since it came up. One
// that was up before us is warm.
func (w *weigher) ramp(v check.Verdict, now time.Time) float64 {
	switch {
	case v.Health == check.Unknown, v.Reason == check.JRubyUnread:
		// Nobody has looked: no reason to think that it was out.
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

// weightless warns of balancers that send us nothing because our part of the
// weight on their server line, rounded down, is none.
func weightless(list []Balancer) []string {
	var warnings []string
	for _, b := range list {
		if b.View != nil && b.View.Sends() && b.View.Weight == 0 {
			warnings = append(warnings, fmt.Sprintf("balancer %s gives %s no weight, hence no agents: its server line needs weight 100", b.Label(), b.Name))
		}
	}
	return warnings
}
