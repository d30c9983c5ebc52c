package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// Decide returns whether new connections are refused, and why: they are while a hold that could be read asks for
// drain or maint of the master itself, and no balancer sends agents to it any more. Decide calls sends only in that
// case; it returns the balancers that do send, as far as that is known, in a sentence. Any doubt about the holds
// leaves the gate open: agents that reach a held master are better off than agents that reach none.
func Decide(holds drain.Snapshot, sends func() string, now time.Time) (closed bool, reason string) {
	var by []string
	mode, unreadable := drain.Ready, ""
	for _, h := range holds.At(now).Holds() {
		switch {
		case !h.Covers(monitor.Server):
		case h.Code != "":
			unreadable = h.Holder
		case mode == drain.Ready || mode == h.Mode: // the strictest come first
			mode = h.Mode
			by = append(by, h.Holder)
		}
	}
	held := fmt.Sprintf("held in %s by %s", mode, strings.Join(by, ", "))
	switch {
	case len(by) > 0:
		if still := sends(); still != "" {
			return false, held + ", but " + still
		}
		return true, held
	case unreadable != "":
		return false, fmt.Sprintf("the hold of %s cannot be read", unreadable)
	}
	return false, "not held"
}
