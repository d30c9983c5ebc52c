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
	// lastTime is how long a stop waits until each lone balancer has asked once more: the usual interval of a slow one.
	lastTime = 10 * time.Second
	// LongestTurn is how long a stop waits for its turn in all, however many servers come back meanwhile.
	LongestTurn = 4 * time.Hour
	// untrustedTurn is the same if only views of unlisted balancers show that servers come back: any client can send
	// those.
	untrustedTurn = 2 * time.Hour
)

// patience says how long each part of a stop may take. It waits for its turn as long as others come back: the turn
// counts from the last time that a server came back or a slot changed hands.
type patience struct {
	limits    config.Guard
	began     time.Time
	turn      time.Time // when the turn is over
	told      time.Time // when every balancer had let go, or the stop went on regardless
	firm      time.Time // when the hold became firm
	hostStops time.Time // since when the host has been seen to shut down; zero if it does not

	listed, others, fleet returns         // what the balancers of the setting, other clients and the fleet show
	slots                 map[string]bool // masters that have been seen with a slot
}

func newPatience(now time.Time) *patience {
	return &patience{began: now, slots: map[string]bool{}}
}

// limit sets the limits of a stop.
func (p *patience) limit(limits config.Guard) {
	p.limits = limits
	p.turn = p.began.Add(limits.Turn)
}

// end returns when a phase is over. A shutdown limits all of them together, from when it was seen: half of
// it is for the turn, and a master that balancers cannot do without serves on until it must stop.
func (p *patience) end(of phase) time.Time {
	turn := p.turn
	insist := turn.Add(min(p.limits.Turn, overtime))
	idle := p.told.Add(p.limits.Wait)
	if !p.hostStops.IsZero() {
		turn = earlier(turn, p.hostStops.Add(p.limits.Shutdown/2))
		insist = p.hostStops.Add(p.limits.Shutdown - min(stopTime, p.limits.Shutdown/10))
		idle = earlier(idle, insist)
	}
	switch of {
	case phaseLast:
		return p.firm.Add(lastTime)
	case phaseIdle:
		return idle
	case phaseInsist:
		if p.limits.Turn > 0 {
			return insist
		}
	}
	return turn
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (p *patience) noteShutdown(now time.Time) {
	if p.hostStops.IsZero() {
		p.hostStops = now
	}
}

// renew has the turn count from now, until longest after the way out began.
func (p *patience) renew(now time.Time, longest time.Duration) {
	turn := earlier(now.Add(p.limits.Turn), p.began.Add(longest))
	if turn.After(p.turn) {
		p.turn = turn
	}
}

// note looks in a status for servers that have come back.
func (p *patience) note(s status.Status) {
	now := time.Now()
	var listed, others missed
	for _, b := range s.Balancers {
		missing, _ := b.Missing(s.Time)
		if b.Listed {
			listed.count(missing, b.Others())
		} else {
			others.count(missing, b.Others())
		}
	}
	if p.listed.note(listed) {
		p.renew(now, LongestTurn)
	}
	if p.others.note(others) {
		p.renew(now, untrustedTurn)
	}
}

// noteFleet looks for masters of the fleet that have come back.
func (p *patience) noteFleet(missing, others int) {
	if p.fleet.note(missed{missing: missing, others: others}) {
		p.renew(time.Now(), LongestTurn)
	}
}

// noteSlots looks for slots of the budget that have changed hands.
func (p *patience) noteSlots(slots []budget.Slot) {
	for _, s := range slots {
		if !p.slots[s.Master] {
			p.slots[s.Master] = true
			p.renew(time.Now(), LongestTurn)
		}
	}
}

// missed is how many servers are missing by the view that misses most, and how many others there are.
type missed struct{ missing, others int }

func (m *missed) count(missing, others int) {
	m.missing = max(m.missing, missing)
	m.others = max(m.others, others)
}

// returns counts the servers that have come back, each once: a server that flaps keeps no stop waiting.
type returns struct{ missing, back int }

// note reports whether a server has come back since the last look.
func (r *returns) note(m missed) (came bool) {
	came = m.missing < r.missing && r.back < max(1, m.others)
	if came {
		r.back++
	}
	r.missing = m.missing
	return came
}
