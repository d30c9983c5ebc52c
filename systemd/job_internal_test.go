package systemd

import (
	"context"
	"testing"

	"github.com/coreos/go-systemd/v22/dbus"
)

// A simulated manager has one service, puppetserver.service, under several names.
type simulated struct{ jobs []dbus.JobStatus }

// GetServicePropertyContext implements manager. It has no property that is a number.
func (simulated) GetServicePropertyContext(context.Context, string, string) (*dbus.Property, error) {
	return new(dbus.PropDescription("")), nil
}

// GetUnitPropertyContext implements manager: every name is one of this unit, which runs.
func (simulated) GetUnitPropertyContext(_ context.Context, _, name string) (*dbus.Property, error) {
	if name == "SubState" {
		return new(dbus.PropDescription("running")), nil
	}
	return new(dbus.PropDescription("puppetserver.service")), nil
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
		if want := (Service{SubState: "running", Job: tt.want}); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", tt.unit, got, err, want)
		}
	}
}
