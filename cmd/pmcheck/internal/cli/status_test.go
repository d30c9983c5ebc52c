package cli

import (
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func TestExitStatusIsThatOfTheWorstServiceOfTheWorstMaster(t *testing.T) {
	service := func(mode drain.Mode, health check.Health) status.ServiceStatus {
		return status.ServiceStatus{Mode: mode, Verdict: check.Verdict{Health: health}}
	}
	good, held := service(drain.Ready, check.Busy), service(drain.Drain, check.Unhealthy)
	bad := service(drain.Ready, check.Unhealthy)
	for want, services := range map[int][]status.ServiceStatus{
		exitOK:        {good, good},
		exitHeld:      {good, held},
		exitUnhealthy: {bad, held},
	} {
		s := status.Status{Services: services}
		if got := statusExit(s); got != want {
			t.Errorf("%d, want %d", got, want)
		}
		if got := fleetExit([]status.Member{{Status: &status.Status{}}, {Status: &s}}); got != want {
			t.Errorf("a pool: %d, want %d", got, want)
		}
	}
}
