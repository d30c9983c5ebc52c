package systemd

import (
	"context"
	"testing"

	"github.com/coreos/go-systemd/v22/dbus"
)

// A simulated manager has one service, puppetserver.service, under several names.
type simulated struct{ jobs []dbus.JobStatus }

// GetAllPropertiesContext implements manager: every name is one of this unit, which runs.
func (simulated) GetAllPropertiesContext(context.Context, string) (map[string]any, error) {
	return map[string]any{"Id": "puppetserver.service", "SubState": "running", "MainPID": uint32(7)}, nil
}

// ListJobsContext implements manager.
func (s simulated) ListJobsContext(context.Context) ([]dbus.JobStatus, error) { return s.jobs, nil }

// The guard of an alias, pmcheck-guard@puppet-master.service, must see the stop, too.
func TestTheJobOfAServiceIsFoundUnderItsAlias(t *testing.T) {
	others := []dbus.JobStatus{{Unit: "puppetserver2.service", JobType: "start"}}
	stop := append(others, dbus.JobStatus{Unit: "puppetserver.service", JobType: "stop"})
	for _, tt := range []struct {
		unit string
		jobs []dbus.JobStatus
		want string
	}{
		{"puppetserver.service", stop, "stop"},
		{"puppet-master.service", stop, "stop"},
		{"puppet-master.service", others, ""},
	} {
		got, err := service(t.Context(), simulated{tt.jobs}, tt.unit)
		if want := (Service{SubState: "running", MainPID: 7, Job: tt.want}); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", tt.unit, got, err, want)
		}
	}
}
