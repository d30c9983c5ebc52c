package leave

import (
	"maps"
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
	// stopTime is the most that a shutdown leaves for the stop of a service that has not been drained: a tenth of
	// guard.shutdown, if that is less.
	stopTime = time.Minute
	// lastTime is how long a stop waits until each balancer of which this is the only server has asked once more: the
	// usual interval of a slow one.
	lastTime = 10 * time.Second
	// LongestTurn is how long a stop waits for its turn in all, however many servers come back meanwhile.
	LongestTurn = 4 * time.Hour
	// untrustedTurn is the longest turn if only views of unlisted balancers show that servers come back: any client
	// can send such views.
	untrustedTurn = 2 * time.Hour
)

// times are the moments from which the phases of a way out count, and what renews its turn: the turn of a stop counts
// from the last time that a server came back or a slot changed hands, so it lasts as long as others come back.
type times struct {
	began     time.Time
	out       time.Time // when every balancer had let go, or the way out went on regardless; zero before that
	firm      time.Time // when the hold became firm
	hostStops time.Time // since when the host has been seen to shut down; zero if it does not
	turnEnd   time.Time // when the turn is over

	views map[viewer]returns // servers in the view of each balancer
	fleet returns            // masters of the fleet
	slots map[string]bool    // masters that have been seen with a slot
}

// A viewer is a balancer that says which servers it has.
type viewer struct {
	source     netip.Addr
	node, name string
	service    drain.Service
}

// endOf returns when a phase of a stop is over.
func (t times) endOf(phase Phase, limits config.Guard) time.Time {
	switch phase {
	case PhaseSlot:
		return t.endOfSlot(limits)
	case PhaseIdle:
		return t.endOfIdling(limits)
	case PhaseLast:
		return t.firm.Add(lastTime)
	}
	return t.endOfTurn(limits)
}

// endOfTurn returns when the turn is over. Half of the time that a shutdown takes is for the turn.
func (t times) endOfTurn(limits config.Guard) time.Time {
	if t.hostStops.IsZero() {
		return t.turnEnd
	}
	return earlier(t.turnEnd, t.hostStops.Add(limits.Shutdown/2))
}

// endOfSlot returns until when a stop waits for a slot: as long as another stop that began in the same moment may have
// it. Without a slot, both would be out of balancers that send no view.
func (t times) endOfSlot(limits config.Guard) time.Time {
	// A stop without a turn waits for nothing.
	if limits.Turn == 0 {
		return t.endOfTurn(limits)
	}

	end := t.turnEnd.Add(limits.Wait + longestRestart)
	if !t.hostStops.IsZero() {
		end = earlier(end, t.hostStops.Add(limits.Shutdown/2))
	}
	return earlier(end, t.began.Add(LongestTurn))
}

// endOfIdling returns until when a stop waits for the last agent.
func (t times) endOfIdling(limits config.Guard) time.Time {
	end := t.out.Add(limits.Wait)
	if t.hostStops.IsZero() {
		return end
	}
	return earlier(end, t.mustStop(limits))
}

// mustStop returns when a service must stop because the host shuts down.
func (t times) mustStop(limits config.Guard) time.Time {
	reserve := min(stopTime, limits.Shutdown/10)
	return t.hostStops.Add(limits.Shutdown - reserve)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// renewed has a turn count from now, until longest after the way out began.
func (t times) renewed(turn time.Duration, now time.Time, longest time.Duration) times {
	end := earlier(now.Add(turn), t.began.Add(longest))
	if end.After(t.turnEnd) {
		t.turnEnd = end
	}
	return t
}

// withViews looks in a status for servers that have come back. Balancers are counted one by one: one of them may miss
// the next server before another has the last one back.
func (t times) withViews(turn time.Duration, s status.Status, now time.Time) times {
	t.views = copied(t.views)
	for _, b := range s.Balancers {
		by := viewer{source: b.Source, node: b.Node, name: b.Name, service: b.Service}
		missing, _ := b.Missing(s.Time)
		seen, came := t.views[by].with(missing, b.Others())
		t.views[by] = seen
		if !came {
			continue
		}

		longest := untrustedTurn
		if b.Listed {
			longest = LongestTurn
		}
		t = t.renewed(turn, now, longest)
	}
	return t
}

// withFleet looks for masters of the fleet that have come back.
func (t times) withFleet(turn time.Duration, missing, others int, now time.Time) times {
	seen, came := t.fleet.with(missing, others)
	t.fleet = seen
	if came {
		t = t.renewed(turn, now, LongestTurn)
	}
	return t
}

// withSlots looks for slots of the budget that have changed hands.
func (t times) withSlots(turn time.Duration, slots []budget.Slot, now time.Time) times {
	t.slots = copied(t.slots)
	for _, s := range slots {
		if !t.slots[s.Master] {
			t.slots[s.Master] = true
			t = t.renewed(turn, now, LongestTurn)
		}
	}
	return t
}

// copied returns a map of its own: a State is never changed.
func copied[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// returns counts the servers that have come back. Each counts once, so that a server that flaps keeps no stop waiting.
type returns struct{ missing, back int }

// with reports whether fewer of the other servers are missing than before: a server has come back, or is not expected
// any more. It does so once for each of the other servers at most.
func (r returns) with(missing, others int) (now returns, came bool) {
	isFewer := missing < r.missing
	r.missing = missing
	atMost := max(1, others) // others may be 0 while one is missing, see Balancer.Missing
	if !isFewer || r.back >= atMost {
		return r, false
	}
	r.back++
	return r, true
}
