package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/drain"
)

// outAfter is how long a master that is not held must be out before it counts as out. A short fault, such
// as a reload, must not keep others from leaving.
const outAfter = time.Minute

// Slot returns what to do about the slot and, for a master that may not have one yet, why it is out.
func (s Status) Slot() (step budget.Step, reason string) {
	master := s.Master()
	hasSlot := s.Budget != nil && s.Budget.Held
	// A master that its balancers keep although it would leave is not out.
	isKept := master.InService() && !hasSlot
	for _, h := range s.Holds {
		if h.Covers(drain.Master) && !isKept {
			reason = fmt.Sprintf("%s by %s: %s", h.Mode, h.Holder, h.Reason)
			return budget.Renew, strings.TrimSuffix(reason, ": ")
		}
	}

	lasts := s.Time.Sub(master.ServingSince)
	if hasSlot {
		// Returning includes that the master itself does not serve.
		isBack := lasts >= budget.Settle && len(s.Returning(master)) == 0
		if isBack {
			return budget.Return, ""
		}
		return budget.Renew, ""
	}

	isDown := master.Mode == drain.Ready && !master.InService() && lasts >= outAfter
	if isDown {
		return budget.Renew, master.Answer.Body
	}
	return budget.Look, ""
}

// slotKept is the blocker of a slot that the daemon has not given back yet.
func (s Status) slotKept() []Blocker {
	if s.Budget == nil {
		return nil
	}
	// A database that does not answer keeps no master from being in service.
	if !s.Budget.Reachable {
		return blocker.NotKnownUntil(s.Time, "whether its slot is free: %s", s.Budget.Error)
	}

	isReturned := !s.Budget.Held && s.Budget.Asked.After(s.Master().ModeSince)
	if isReturned {
		return nil
	}
	return blocker.Only(blocker.Budget, "its slot in the budget is free once it has been back for %s",
		text.Duration(budget.Settle))
}

// OverBudget returns the masters that keep this one from leaving because they use up the budget, as the daemon saw the
// budget last. The database decides.
func (s Status) OverBudget(service drain.Service) []Blocker {
	if s.Budget == nil || !Budgeted(service) || s.Budget.Held {
		return nil
	}
	if !s.Budget.Reachable {
		return blocker.Only(blocker.Unknown, "%s", s.Budget.Error)
	}
	if s.Budget.Out < s.Budget.Allowed {
		return nil
	}
	taken := budget.TakenError{Slots: s.Budget.Others(), Allowed: s.Budget.Allowed}
	return blocker.Only(blocker.Budget, "%s", taken.Error())
}

// Budgeted reports whether a hold on a service needs a slot. The budget counts masters, so a hold on a service
// beside the master needs no slot.
func Budgeted(service drain.Service) bool { return service.Covers(drain.Master) }
