package leave

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// outAfter is how long a master that is not held must be out before it counts as out. A short fault, such
// as a reload, must not keep others from leaving.
const outAfter = time.Minute

// SlotStep is what the daemon does about the slot of its master in the budget.
type SlotStep string

// The steps.
const (
	SlotLook   SlotStep = "look"   // only see which masters are out
	SlotRenew  SlotStep = "renew"  // the master is out, or not yet back
	SlotReturn SlotStep = "return" // the master is back, and has settled
)

// Slot returns what to do about the slot and, for a master that may not have one yet, why it is out.
// settled says that SlotBack has been true for budget.Settle.
func Slot(s status.Status, settled bool) (step SlotStep, reason string) {
	server, _ := s.Service(monitor.Server)
	if why := heldBy(s); why != "" {
		return SlotRenew, why
	}
	switch {
	case s.Budget == nil:
		return SlotLook, ""
	case s.Budget.Held && settled && SlotBack(s):
		return SlotReturn, ""
	case s.Budget.Held:
		return SlotRenew, ""
	case server.Mode == drain.Ready && !server.Serves() && s.Time.Sub(server.ServingSince) >= outAfter:
		return SlotRenew, server.Answer.Body
	}
	return SlotLook, ""
}

// SlotBack reports whether the master is in service again: its mode is ready, it is healthy, and every
// balancer that sends its view sends agents.
func SlotBack(s status.Status) bool {
	server, _ := s.Service(monitor.Server)
	return server.Mode == drain.Ready && len(Returning(s, monitor.Server, server.ModeSince)) == 0
}

// slotKept is the obstacle of a slot that the daemon has not given back yet. A database that does not
// answer keeps no master from being in service.
func slotKept(s status.Status) []status.Obstacle {
	server, _ := s.Service(monitor.Server)
	switch {
	case s.Budget == nil || !s.Budget.Reachable:
		return nil
	case s.Budget.Held:
		return []status.Obstacle{balancer.NewObstacle(balancer.ObstacleBudget, "",
			"its slot in the budget is free once it has been back for %s", text.Duration(budget.Settle))}
	case !s.Budget.Asked.After(server.ModeSince):
		return []status.Obstacle{balancer.NewObstacle(balancer.ObstacleBudget, "",
			"the budget has not been asked since the hold was lifted")}
	}
	return nil
}

// heldBy says which hold takes the master out; it returns "" if none does.
func heldBy(s status.Status) string {
	for _, h := range s.Holds {
		if !h.Covers(monitor.Server) {
			continue
		}
		why := fmt.Sprintf("%s by %s", h.Mode, h.Holder)
		if h.Who != "" {
			why += " (" + h.Who + ")"
		}
		if h.Reason != "" {
			why += ": " + h.Reason
		}
		return why
	}
	return ""
}

// OverBudget returns the masters that keep this one from leaving because they use up the budget. The
// database decides; this is what the daemon saw last.
func OverBudget(s status.Status, service string) (list []status.Obstacle) {
	if s.Budget == nil || !Budgeted(service) || s.Budget.Held {
		return nil
	}
	if !s.Budget.Reachable {
		return []status.Obstacle{balancer.NewObstacle(balancer.ObstacleBudget, "", "%s", s.Budget.Error)}
	}
	if s.Budget.Out < s.Budget.Allowed {
		return nil
	}
	for _, slot := range s.Budget.Slots {
		if !slot.Lapsed {
			o := balancer.NewObstacle(balancer.ObstacleBudget, slot.Master, "%s; %d of %d",
				slot.At(s.Time), s.Budget.Out, s.Budget.Allowed)
			o.Seconds = s.Time.Sub(slot.Since).Seconds()
			list = append(list, o)
		}
	}
	return list
}

// Budgeted reports whether a hold on a service needs a slot. An empty service stands for every service.
// The budget counts masters, so a hold on any other service needs none.
func Budgeted(service string) bool { return service == "" || service == monitor.Server }

// Claimant names the party that claims a slot: the holder, or the user if the holder is the default.
func Claimant(h drain.Hold) string {
	if h.Holder != drain.Operator {
		return h.Holder
	}
	name := os.Getenv("SUDO_USER")
	if u, err := user.Current(); err == nil {
		name = cmp.Or(name, u.Username)
	}
	return cmp.Or(name, h.Holder)
}
