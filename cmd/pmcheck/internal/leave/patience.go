package leave

import (
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

const (
	// overtime is the longest time that a stop waits, after the end of its turn, for a balancer that has
	// no other server.
	overtime = 4 * time.Minute
	// stopTime is what a shutdown leaves for the stop of a service that has not been drained.
	stopTime = time.Minute
	// LongestTurn is how long a stop waits for its turn in all, however many servers come back meanwhile.
	LongestTurn = 4 * time.Hour
)

// phase is a part of the way out.
type phase int

const (
	phaseBegin  phase = iota // until the daemon knows its balancers
	phaseTurn                // until every balancer is told
	phaseInsist              // the same, once only a spare server matters
	phaseIdle                // until the last agent has finished
)

// patience says how long each part of the way out may take. A command has one limit for all of them. A
// stop waits for its turn as long as others come back: the turn counts from the last time that a server
// came back or a slot changed hands, once for each of them, so that one that flaps keeps nobody up.
type patience struct {
	limit     time.Duration // of a command
	stop      *config.Guard // the limits of a service that stops in any case; nil for a command
	began     time.Time
	told      time.Time // when every balancer was told, or the stop went on regardless
	hostStops time.Time // since when the host has been seen to shut down; zero if it does not

	progress time.Time      // zero: none yet
	low      map[string]int // by balancer: the least weight of its other servers since its last progress
	counted  map[string]int // by balancer or master: how often it counted
	slots    map[string]bool
}

// end returns when a phase is over. A shutdown limits all of them together, from when it was seen: half of
// it is for the turn, and a master that balancers cannot do without serves on until it must stop.
func (p *patience) end(of phase) time.Time {
	switch {
	case p.stop == nil:
		return p.began.Add(p.limit)
	case of == phaseBegin: // however short its turn is, a stop looks
		return p.began.Add(youngFor + daemonPause)
	}
	g := p.stop
	turn := later(p.began, p.progress).Add(g.Turn)
	turn = earlier(turn, p.began.Add(LongestTurn))
	shutdown := !p.hostStops.IsZero()
	if shutdown {
		turn = earlier(turn, p.hostStops.Add(g.Shutdown/2))
	}
	switch {
	case of == phaseIdle && shutdown:
		return earlier(p.told.Add(g.Wait), p.hostStops.Add(g.Shutdown))
	case of == phaseIdle:
		return p.told.Add(g.Wait)
	case of == phaseTurn || g.Turn == 0:
		return turn
	case shutdown:
		return p.hostStops.Add(g.Shutdown - min(stopTime, g.Shutdown/10))
	}
	return turn.Add(min(g.Turn, overtime))
}

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

// note looks for servers that have come back to a balancer since the last status.
func (p *patience) note(s status.Status, now time.Time) {
	for _, b := range s.Balancers {
		if b.View == nil {
			continue
		}
		key := fmt.Sprint(b.Source, b.Node, b.Name)
		others, unit := b.View.OthersWeight(), max(1, b.UnitWeight)
		low, known := p.low[key]
		if !known {
			low = others
		}
		back := 2*(others-low) >= unit // one that returns may get its weight gradually
		if back || others < low {
			low = others
		}
		p.low[key] = low
		if back {
			p.count(key, max(1, (b.OthersWeight+unit/2)/unit), now)
		}
	}
}

// noteSlots looks for slots of the budget that other masters have given back since the last refusal.
func (p *patience) noteSlots(slots []budget.Slot, now time.Time) {
	held := map[string]bool{}
	for _, s := range slots {
		held[s.Master] = true
	}
	for master := range p.slots {
		if !held[master] {
			p.count(master, 1, now)
		}
	}
	p.slots = held
}

// count counts a return as progress, but not more often than most.
func (p *patience) count(of string, most int, now time.Time) {
	if n := p.counted[of]; n < most {
		p.counted[of] = n + 1
		p.progress = now
	}
}
