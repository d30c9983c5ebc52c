package leave

import (
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// longestRestart is how long the slot of another master may last beyond its turn and the wait for its agents: until
	// its Puppet Server has started, and has been back for budget.Settle.
	longestRestart = 5 * time.Minute
	// stopTime is what a shutdown leaves for the stop of a service that has not been drained.
	stopTime = time.Minute
	// lastTime is how long a stop waits until each lone balancer has asked once more: the usual interval of a slow one.
	lastTime = 10 * time.Second
	// LongestTurn is how long a stop waits for its turn in all, however many servers come back meanwhile.
	LongestTurn = 4 * time.Hour
	// untrustedTurn is the longest turn if only views of unlisted balancers show that servers come back: any client
	// can send such views.
	untrustedTurn = 2 * time.Hour
)

// patience says how long each part of a stop may take. The turn of a stop counts from the last time that a server came
// back or a slot changed hands, so it lasts as long as others come back.
type patience struct {
	limits    config.Guard
	began     time.Time
	turnEnd   time.Time // when the turn is over
	toldAt    time.Time // when every balancer had let go, or the stop went on regardless
	firmAt    time.Time // when the hold became firm
	hostStops time.Time // since when the host has been seen to shut down; zero if it does not

	views map[viewer]*returns // servers in the view of each balancer
	fleet returns             // masters of the fleet
	slots map[string]bool     // masters that have been seen with a slot
}

// A viewer is a balancer that says which servers it has.
type viewer struct {
	source     netip.Addr
	node, name string
	service    drain.Service
}

func newPatience(now time.Time) *patience {
	return &patience{
		began: now,
		views: map[viewer]*returns{},
		slots: map[string]bool{},
	}
}

// limit sets the limits of a stop.
func (p *patience) limit(limits config.Guard) {
	p.limits = limits
	p.turnEnd = p.began.Add(limits.Turn)
}

// end returns when a phase of a stop is over.
func (p *patience) end(of phase) time.Time {
	switch of {
	case phaseSlot:
		return p.endOfSlot()
	case phaseIdle:
		return p.endOfIdling()
	case phaseLast:
		return p.firmAt.Add(lastTime)
	}
	return p.endOfTurn()
}

// endOfTurn returns when the turn is over. Half of the time that a shutdown takes is for the turn.
func (p *patience) endOfTurn() time.Time {
	if p.hostStops.IsZero() {
		return p.turnEnd
	}
	return earlier(p.turnEnd, p.hostStops.Add(p.limits.Shutdown/2))
}

// endOfSlot returns until when a stop waits for a slot: as long as another stop that began in the same moment may have
// it. Without a slot, both would be out of balancers that send no view.
func (p *patience) endOfSlot() time.Time {
	// A stop without a turn waits for nothing.
	if p.limits.Turn == 0 {
		return p.endOfTurn()
	}

	end := p.turnEnd.Add(p.limits.Wait + longestRestart)
	if !p.hostStops.IsZero() {
		end = earlier(end, p.hostStops.Add(p.limits.Shutdown/2))
	}
	return earlier(end, p.began.Add(LongestTurn))
}

// endOfIdling returns until when a stop waits for the last agent.
func (p *patience) endOfIdling() time.Time {
	end := p.toldAt.Add(p.limits.Wait)
	if p.hostStops.IsZero() {
		return end
	}
	return earlier(end, p.mustStop())
}

// mustStop returns when a service must stop because the host shuts down.
func (p *patience) mustStop() time.Time {
	reserve := min(stopTime, p.limits.Shutdown/10)
	return p.hostStops.Add(p.limits.Shutdown - reserve)
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
	end := earlier(now.Add(p.limits.Turn), p.began.Add(longest))
	if end.After(p.turnEnd) {
		p.turnEnd = end
	}
}

// noteViews looks in a status for servers that have come back. Balancers are counted one by one: one of them may miss
// the next server before another has the last one back.
func (p *patience) noteViews(s status.Status) {
	for _, b := range s.Balancers {
		by := viewer{source: b.Source, node: b.Node, name: b.Name, service: b.Service}
		seen, known := p.views[by]
		if !known {
			seen = &returns{}
			p.views[by] = seen
		}

		missing, _ := b.Missing(s.Time)
		if !seen.note(missing, b.Others()) {
			continue
		}
		longest := untrustedTurn
		if b.Listed {
			longest = LongestTurn
		}
		p.renew(time.Now(), longest)
	}
}

// noteFleet looks for masters of the fleet that have come back.
func (p *patience) noteFleet(missing, others int) {
	if p.fleet.note(missing, others) {
		p.renew(time.Now(), LongestTurn)
	}
}

// noteSlot has the turn begin anew with a slot.
func (p *patience) noteSlot() { p.renew(time.Now(), LongestTurn) }

// noteSlots looks for slots of the budget that have changed hands.
func (p *patience) noteSlots(slots []budget.Slot) {
	for _, s := range slots {
		if !p.slots[s.Master] {
			p.slots[s.Master] = true
			p.renew(time.Now(), LongestTurn)
		}
	}
}

// returns counts the servers that have come back. Each counts once, so that a server that flaps keeps no stop waiting.
type returns struct{ missing, back int }

// note reports whether fewer of the other servers are missing than at the last call: a server has come back, or is not
// expected any more. note returns true once for each of the other servers at most.
func (r *returns) note(missing, others int) (came bool) {
	isFewer := missing < r.missing
	r.missing = missing
	atMost := max(1, others) // others may be 0 while one is missing, see Balancer.Missing
	if !isFewer || r.back >= atMost {
		return false
	}
	r.back++
	return true
}
