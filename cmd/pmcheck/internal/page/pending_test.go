package page_test

import (
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// A hold of mode ready announces a stop. The page shows it, does not say that it holds
// the master, and does not advise to lift it.
func TestPendingStopIsShownButNotAsAHold(t *testing.T) {
	const reason = "puppetserver is about to stop; waits for its turn: balancer lb1 has had no other server for 12 s"
	page := render(t, api.Status{
		Services: []api.ServiceStatus{{Name: "server", Mode: drain.Ready, Verdict: check.Verdict{Health: check.Healthy}}},
		Holds:    []api.HoldStatus{{Hold: drain.Hold{Holder: "guard", Mode: drain.Ready, Reason: reason}}},
	}, nil)
	if !strings.Contains(page, reason) {
		t.Error("the page does not show the pending stop")
	}
	for _, wrong := range []string{"held by guard", "pmcheck ready --hold guard"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page says %q", wrong)
		}
	}
}
