package rotation

import (
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// othersTime is how old what other masters said may be.
	othersTime = 20 * time.Second
	// othersWindow is the length of a window where masters only ask each other, every 5 s, and
	// othersLate how long after its beginning it may be used.
	othersWindow, othersLate = 15 * time.Second, time.Second
	// blip is how long a master may fail and still count as one that serves.
	blip = 10 * time.Second
	// silence is the same for a master that does not answer in time, as long as it takes
	// until the budget counts it as out.
	silence = time.Minute
)

// others returns what the other masters of the fleet said; nil if that is not known. The
// daemon asks them while the gate runs, and for a while after that: one that restarts.
func others(s api.Status) *api.OthersStatus {
	if s.Others == nil || s.Time.Sub(s.Others.Asked) > othersTime {
		return nil
	}
	return s.Others
}

// fleetTells reports whether masters take turns by what they say of each other: agents
// behind a gate may have no balancer that could tell. A master that is held behind a closed
// gate is out already, so its stop needs no turn. Neither does that of one that has failed:
// two of them would wait for each other, and only their restarts can mend them.
func fleetTells(s api.Status) bool {
	if others(s) == nil {
		return false
	}
	server, _ := s.Service(monitor.Server)
	since := server.ServingSince
	if server.Mode != drain.Ready {
		since = server.Verdict.Since
	}
	waits := server.Mode == drain.Ready || !s.Gate.Runs(s.Time) || !s.Gate.Closed
	return waits && !failedFor(server.Verdict, s.Time.Sub(since))
}

// failedFor reports whether a master with this verdict has failed, if it has not served for
// this time. One that is silent may only be slow, and agents get their catalogs; of one
// that is unknown nothing is known but that pmcheck cannot ask.
func failedFor(v check.Verdict, out time.Duration) bool {
	switch {
	case v.Health.Serves(), v.Health == check.Unknown:
		return false
	case v.Reason == check.Timeout:
		return out > silence
	}
	return out > blip
}

// unasked is the obstacle of a daemon that has just started and takes turns by what the
// fleet says, but has no answer yet.
func unasked(s api.Status, service string) []api.Obstacle {
	gate := s.Gate.Runs(s.Time) || s.Others != nil // from a previous daemon
	age := s.Time.Sub(s.Started)
	if service != "" && service != monitor.Server || !gate || len(s.Fleet) == 0 || others(s) != nil || age >= youngFor {
		return nil
	}
	return []api.Obstacle{obstacle(api.ObstacleUnseen, "", "the daemon has run for %s, and the fleet has not answered yet",
		text.Age(age))}
}

// turnOfFleet returns the masters of the fleet that are expected back.
func turnOfFleet(s api.Status, service string) (list []api.Obstacle) {
	if !fleetTells(s) || service != "" && service != monitor.Server {
		return nil
	}
	for _, member := range s.Others.Missing {
		list = append(list, obstacle(api.ObstacleTurn, member, "%s of the fleet does not serve", member))
	}
	return list
}

// Alone says why no other master of the pool serves; it returns "" if one does, or if
// that is not known. Only the fleet can say so: the budget counts the masters that are
// out, but does not know how many there are. The budget decides only about a member that
// does not say whether it serves.
func Alone(s api.Status) string {
	o := others(s)
	if o == nil || len(o.Serving) > 0 || len(o.Out)+len(o.Unknown) == 0 {
		return ""
	}
	for _, member := range o.Unknown {
		if !hasSlot(s, member) {
			return ""
		}
	}
	return "no other master of the fleet serves: " + strings.Join(slices.Concat(o.Out, o.Unknown), ", ")
}

// lastOfFleet says why agents would find no other master if this one were drained: no balancer
// asks for catalogs, and the gate stays open. It returns "" if they would, or if that is not
// known.
func lastOfFleet(s api.Status, service string) string {
	if Heard(s, monitor.Server) || service != "" && service != monitor.Server {
		return ""
	}
	return Alone(s)
}

// gateSendsElsewhere reports whether the agents of catalogs go to other masters of the fleet
// once the gate has closed. Balancers decide if one asks for catalogs.
func gateSendsElsewhere(s api.Status) bool {
	o := others(s)
	return s.Gate.Runs(s.Time) && !Heard(s, monitor.Server) && o != nil && o.Members() > 0 && Alone(s) == ""
}

// hasSlot reports whether a member of the fleet is out by the budget of the pool.
func hasSlot(s api.Status, member string) bool {
	return s.Budget != nil && s.Budget.Reachable && slices.ContainsFunc(s.Budget.Slots, func(slot api.Slot) bool {
		return !slot.Own && !slot.Lapsed && len(api.Named([]string{member}, []string{slot.Master})) > 0
	})
}

// gated reports whether the gate refuses what a balancer still sends. The gate never refuses
// the addresses of this host.
func gated(s api.Status, b api.Balancer) bool {
	return b.Service == monitor.Server && s.Gate.Refuses(b.Source, s.Time)
}

// gateOpen returns an obstacle if the gate of a held master is open: agents that no balancer
// sends elsewhere still come.
func gateOpen(s api.Status, since time.Time) []api.Obstacle {
	switch {
	case !s.Gate.Runs(s.Time) || s.Gate.Closed && s.Gate.Looked.After(since):
		return nil
	case !s.Gate.Looked.After(since):
		return []api.Obstacle{obstacle(api.ObstacleGate, "", "the gate has not looked since the hold changed")}
	case s.Gate.Error != "":
		return []api.Obstacle{obstacle(api.ObstacleGate, "", "the gate cannot close: %s", s.Gate.Error)}
	}
	return []api.Obstacle{obstacle(api.ObstacleGate, "", "the gate is open: %s", s.Gate.Reason)}
}

// gateClosed returns an obstacle if the gate of a master that is ready is still closed.
func gateClosed(s api.Status, v api.ServiceStatus) []api.Obstacle {
	if v.Name != monitor.Server || v.Mode != drain.Ready || !s.Gate.Runs(s.Time) || !s.Gate.Closed {
		return nil
	}
	return []api.Obstacle{obstacle(api.ObstacleGate, "", "the gate is still closed: %s", s.Gate.Reason)}
}
