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
	first := member{Status: &status.Status{Services: []status.ServiceStatus{good}}}
	for _, tt := range []struct {
		want     int
		services []status.ServiceStatus
	}{
		{exitOK, []status.ServiceStatus{good, good}},
		{exitHeld, []status.ServiceStatus{good, held}},
		{exitUnhealthy, []status.ServiceStatus{bad, held}},
		{exitUnhealthy, nil},
	} {
		if got := statusExit([]member{first, {Status: &status.Status{Services: tt.services}}}); got != tt.want {
			t.Errorf("%d, want %d", got, tt.want)
		}
	}
}
