package show

import (
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// gateText returns the gate on one line; "" if none runs on the host.
func gateText(g *status.GateStatus, now time.Time) string {
	switch {
	case g == nil:
		return ""
	case !g.Runs(now):
		return "has not looked since " + when(g.Looked, now)
	case !g.Closed:
		return "open: " + g.Reason
	}
	line := fmt.Sprintf("closed since %s: %s", when(g.Since, now), g.Reason)
	if g.Refused > 0 {
		line += fmt.Sprintf("; %d attempts to connect refused", g.Refused)
	}
	return line
}
