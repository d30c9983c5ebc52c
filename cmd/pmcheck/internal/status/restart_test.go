package status_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func TestRestartIsNotAdvisedWhereTheMasterMayNotStartAgain(t *testing.T) {
	const drainIt, notYet = "Drain it before a restart.", "Not yet: Puppet Server may not start again, see check expiry."
	for _, tt := range []struct {
		name   string
		mode   drain.Mode
		health check.Health
		reason check.Reason
		want   string
	}{
		{"in service", drain.Ready, check.Healthy, check.ExpiresSoon, drainIt},
		{"a damaged key", drain.Ready, check.Healthy, puppetclient.OwnFilesMissing, notYet},
		{"a damaged key since the daemon's start", drain.Ready, check.Healthy, puppetclient.OwnFilesInvalid, notYet},
		{"idle, with a damaged key", drain.Maint, check.Healthy, puppetclient.OwnFilesMissing, notYet},
		{"idle", drain.Maint, check.Healthy, check.OK, "Idle: it may be restarted now."},
		{"out, with a damaged key", drain.Ready, check.Unhealthy, puppetclient.OwnFilesMissing, ""},
	} {
		s := status.ServiceStatus{
			Name:    drain.Master,
			Mode:    tt.mode,
			Verdict: check.Verdict{Health: tt.health},
			Checks:  []check.Finding{{Check: check.CheckExpiry, Reason: tt.reason}},
		}
		if got, _ := new(status.Status).MayRestart(s); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
