package leave

import (
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

type phase int

const (
	phaseTurn   phase = iota // until every balancer is told
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

	progress      time.Time       // when a server came back or a slot changed hands last, or the way out began
	missing, back int             // servers that balancers miss now, and how many have come back
	slots         map[string]bool // masters that have been seen with a slot
}

// end returns when a phase is over. A shutdown limits all of them together, from when it was seen: half of
// it is for the turn, and a master that balancers cannot do without serves on until it must stop.
func (p *patience) end(of phase) time.Time {
	if p.stop == nil {
		return p.began.Add(p.limit)
	}
	g := p.stop
	turn, idle := p.progress.Add(g.Turn), p.told.Add(g.Wait)
	turn = earlier(turn, p.began.Add(LongestTurn))
	insist := turn.Add(min(g.Turn, overtime))
	if !p.hostStops.IsZero() {
		turn = earlier(turn, p.hostStops.Add(g.Shutdown/2))
		insist = p.hostStops.Add(g.Shutdown - min(stopTime, g.Shutdown/10))
		idle = earlier(idle, insist)
	}
	switch {
	case of == phaseIdle:
		return idle
	case of == phaseInsist && g.Turn > 0:
		return insist
	}
	return turn
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// note looks for servers that have come back to the balancer that misses most. As many count as it has others.
func (p *patience) note(s status.Status, now time.Time) {
	missing, others := 0, 0
	for _, b := range s.Balancers {
		out, _ := b.Missing(s.Time)
		missing, others = max(missing, out), max(others, b.Others())
	}
	if missing < p.missing && p.back < max(1, others) {
		p.back++
		p.progress = now
	}
	p.missing = missing
}

// noteSlots looks for slots of the budget that have changed hands.
func (p *patience) noteSlots(slots []budget.Slot, now time.Time) {
	for _, s := range slots {
		if !p.slots[s.Master] {
			p.slots[s.Master], p.progress = true, now
		}
	}
}
