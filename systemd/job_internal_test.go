package systemd

import (
	"context"
	"testing"

	"github.com/coreos/go-systemd/v22/dbus"
)

// A simulated manager has one service, puppetserver.service, under several names, and these jobs.
type simulated []dbus.JobStatus

func (simulated) GetAllPropertiesContext(context.Context, string) (map[string]any, error) {
	return map[string]any{"Id": "puppetserver.service", "SubState": "running", "MainPID": uint32(7)}, nil
}

func (s simulated) ListJobsContext(context.Context) ([]dbus.JobStatus, error) { return s, nil }

func (simulated) SystemStateContext(context.Context) (*dbus.Property, error) {
	state := dbus.PropDescription("stopping") // any property of that value
	return &state, nil
}

// The guard of an alias, pmcheck-guard@puppet-master.service, must see the stop, too.
func TestTheJobOfAServiceIsFoundUnderItsAlias(t *testing.T) {
	jobs := simulated{{Unit: "puppetserver2.service", JobType: "start"}, {Unit: "puppetserver.service", JobType: "stop"}}
	for n, job := range []string{"", "", "stop"} { // with the first n of jobs
		got, err := service(t.Context(), jobs[:n], "puppet-master.service")
		if want := (Service{SubState: "running", MainPID: 7, Job: job, HostStops: true}); err != nil || got != want {
			t.Errorf("%v: %+v, %v, want %+v", jobs[:n], got, err, want)
		}
	}
}
