package leave

import (
	"fmt"
	"strings"
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
	SlotReturn SlotStep = "return" // the master has been back for budget.Settle, and balancers send
)

// Slot returns what to do about the slot and, for a master that may not have one yet, why it is out.
func Slot(s status.Status) (step SlotStep, reason string) {
	server, _ := s.Service(monitor.Server)
	since := s.Time.Sub(server.ServingSince)
	has := s.Budget != nil && s.Budget.Held
	for _, h := range s.Holds {
		if h.Covers(monitor.Server) {
			return SlotRenew, strings.TrimSuffix(fmt.Sprintf("%s by %s: %s", h.Mode, h.Holder, h.Reason), ": ")
		}
	}
	switch {
	case has && since >= budget.Settle && len(Returning(s, server)) == 0:
		return SlotReturn, ""
	case has:
		return SlotRenew, ""
	case server.Mode == drain.Ready && !server.Serves() && since >= outAfter:
		return SlotRenew, server.Answer.Body
	}
	return SlotLook, ""
}

// slotKept is the obstacle of a slot that the daemon has not given back yet. A database that does not
// answer keeps no master from being in service.
func slotKept(s status.Status) []status.Obstacle {
	server, _ := s.Service(monitor.Server)
	if s.Budget == nil || !s.Budget.Reachable || !s.Budget.Held && s.Budget.Asked.After(server.ModeSince) {
		return nil
	}
	return obstacle(balancer.ObstacleBudget, "its slot in the budget is free once it has been back for %s",
		text.Duration(budget.Settle))
}

// OverBudget returns the masters that keep this one from leaving because they use up the budget. The
// database decides; this is what the daemon saw last.
func OverBudget(s status.Status, service string) []status.Obstacle {
	switch {
	case s.Budget == nil || !Budgeted(service) || s.Budget.Held:
		return nil
	case !s.Budget.Reachable:
		return obstacle(balancer.ObstacleBudget, "%s", s.Budget.Error)
	case s.Budget.Out < s.Budget.Allowed:
		return nil
	}
	taken := budget.TakenError{Slots: s.Budget.Others(), Allowed: s.Budget.Allowed}
	return obstacle(balancer.ObstacleBudget, "%s", taken.Error())
}

// Budgeted reports whether a hold on a service needs a slot. An empty service stands for every service.
// The budget counts masters, so a hold on any other service needs none.
func Budgeted(service string) bool { return service == "" || service == monitor.Server }
