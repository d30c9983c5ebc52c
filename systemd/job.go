package systemd

import (
	"context"
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/dbus"
)

// Service is the state of a service in systemd at one moment.
type Service struct {
	// Job is the type of its pending job, such as start, stop or restart; empty if
	// there is none.
	Job string
	// MainPID is its main process; 0 if there is none, or if systemd does not know which of
	// its processes that is, as for a service that forks without a PID file.
	MainPID uint32
	// SubState is running while the service has processes, and none of them stops.
	SubState string
	// HostStops is set once the host shuts down or reboots.
	HostStops bool
}

// AskService asks systemd about a service; name may be an alias. It takes at most 5 s.
func AskService(ctx context.Context, name string) (s Service, err error) {
	err = ask(ctx, "about "+name, func(ctx context.Context, bus *dbus.Conn) error {
		s, err = service(ctx, bus, serviceUnit(name))
		return err
	})
	return s, err
}

// manager is what a service is asked of: a connection to systemd.
type manager interface {
	GetAllPropertiesContext(ctx context.Context, unit string) (map[string]any, error)
	ListJobsContext(ctx context.Context) ([]dbus.JobStatus, error)
	SystemStateContext(ctx context.Context) (*dbus.Property, error)
}

// service asks a manager about a service. Jobs have the unit's own name, and not its alias.
func service(ctx context.Context, m manager, unit string) (s Service, err error) {
	p, err := m.GetAllPropertiesContext(ctx, unit)
	if err != nil {
		return s, err
	}
	s.MainPID, _ = p["MainPID"].(uint32)
	s.SubState, _ = p["SubState"].(string)

	jobs, err := m.ListJobsContext(ctx)
	for _, job := range jobs {
		if job.Unit == p["Id"] {
			s.Job = job.JobType
		}
	}

	// A systemd that does not tell its own state is not stopping.
	if state, err := m.SystemStateContext(ctx); err == nil {
		s.HostStops = state.Value.Value() == "stopping"
	}
	return s, err
}

// Start asks systemd to start a unit, and does not wait for that.
func Start(ctx context.Context, unit string) error {
	return ask(ctx, "to start "+unit, func(ctx context.Context, bus *dbus.Conn) error {
		_, err := bus.StartUnitContext(ctx, unit, "replace", nil)
		return err
	})
}

// ask calls f with a connection to systemd: its own socket for root, since the
// system bus may be gone during a shutdown, else the system bus.
func ask(ctx context.Context, what string, f func(context.Context, *dbus.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	bus, err := dbus.NewSystemdConnectionContext(ctx)
	if err != nil {
		bus, err = dbus.NewSystemConnectionContext(ctx)
	}
	if err != nil {
		return fmt.Errorf("ask systemd %s: %w", what, err)
	}
	defer bus.Close()

	if err := f(ctx, bus); err != nil {
		return fmt.Errorf("ask systemd %s: %w", what, err)
	}
	return nil
}

// serviceUnit returns the name of the unit of a service: "puppetserver" and
// "puppetserver.service" name the same unit.
func serviceUnit(name string) string { return strings.TrimSuffix(name, ".service") + ".service" }
