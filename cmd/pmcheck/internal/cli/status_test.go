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
	good, held := service(drain.Ready, check.Healthy), service(drain.Drain, check.Healthy)
	bad, heldBad := service(drain.Ready, check.Unhealthy), service(drain.Drain, check.Unhealthy)
	for _, tt := range []struct {
		name     string
		services []status.ServiceStatus
		want     int
	}{
		{"none", nil, exitOK},
		{"healthy and busy", []status.ServiceStatus{good, service(drain.Ready, check.Busy)}, exitOK},
		{"one held", []status.ServiceStatus{good, held}, exitHeld},
		{"held and unhealthy", []status.ServiceStatus{good, heldBad}, exitHeld},
		{"one unhealthy", []status.ServiceStatus{good, bad}, exitUnhealthy},
		{"one unhealthy, another held", []status.ServiceStatus{bad, held}, exitUnhealthy},
		{"one held, another unhealthy", []status.ServiceStatus{held, bad}, exitUnhealthy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := status.Status{Services: tt.services}
			if got := statusExit(s); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
			if got := fleetExit([]status.Member{{Status: &status.Status{}}, {Status: &s}}); got != tt.want {
				t.Errorf("a pool: %d, want %d", got, tt.want)
			}
		})
	}
}
