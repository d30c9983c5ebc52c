package leave

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// outAfter is how long a master that is not held must be out before it counts as out. A short fault, such
// as a reload, must not keep others from leaving.
const outAfter = time.Minute

// KeepSlot returns what the daemon does about the slot that a way out has claimed, or that a master needs which is out
// without a hold, and why it is out.
func KeepSlot(s status.Status) (step budget.Step, reason string) {
	master := s.Master()
	hasSlot := s.Budget != nil && s.Budget.HasSlot
	// A master that its balancers keep although it would leave is not out.
	isKept := master.InService() && !hasSlot
	for _, h := range s.Holds {
		if h.Covers(drain.Master) && !isKept {
			reason = fmt.Sprintf("%s by %s: %s", h.Mode, h.Holder, h.Reason)
			return budget.Renew, strings.TrimSuffix(reason, ": ")
		}
	}

	lasts := s.Time.Sub(master.InServiceSince)
	if hasSlot {
		isBack := lasts >= budget.Settle && len(master.Departure.Return) == 0
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
