package cli

import (
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

func TestExitStatusIsThatOfTheWorstServiceOfTheWorstMaster(t *testing.T) {
	service := func(mode drain.Mode, health check.Health) api.ServiceStatus {
		return api.ServiceStatus{Mode: mode, Verdict: check.Verdict{Health: health}}
	}
	good, held := service(drain.Ready, check.Healthy), service(drain.Drain, check.Healthy)
	bad, heldBad := service(drain.Ready, check.Unhealthy), service(drain.Drain, check.Unhealthy)
	for _, tt := range []struct {
		name     string
		services []api.ServiceStatus
		want     int
	}{
		{"none", nil, exitOK},
		{"healthy and busy", []api.ServiceStatus{good, service(drain.Ready, check.Busy)}, exitOK},
		{"one held", []api.ServiceStatus{good, held}, exitHeld},
		{"held and unhealthy", []api.ServiceStatus{good, heldBad}, exitHeld},
		{"one unhealthy", []api.ServiceStatus{good, bad}, exitUnhealthy},
		{"one unhealthy, another held", []api.ServiceStatus{bad, held}, exitUnhealthy},
		{"one held, another unhealthy", []api.ServiceStatus{held, bad}, exitUnhealthy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := api.Status{Services: tt.services}
			if got := statusExit(s); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
			if got := fleetExit([]api.Member{{Status: &api.Status{}}, {Status: &s}}); got != tt.want {
				t.Errorf("a pool: %d, want %d", got, tt.want)
			}
		})
	}
}
