//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/systemd"
)

// TestWatchUnitReportsEachState follows units of a host's systemd from outside the host.
func TestWatchUnitReportsEachState(t *testing.T) {
	lab.Real(t)
	h := lab.StartNetwork(t).Boot("units")
	unit := "[Service]\nExecStart=/bin/sleep infinity\nExecReload=/bin/sleep 1\nExecStop=/bin/sleep 1\n"
	h.WriteFile("/etc/systemd/system/second.service", unit, 0o644)
	h.MustRun("systemctl", "daemon-reload")

	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", fmt.Sprintf("unix:path=/proc/%d/root/run/dbus/system_bus_socket", h.Pid()))
	ctx, cancel := context.WithCancel(t.Context())
	states := make(chan systemd.UnitState, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		systemd.WatchUnit(ctx, []string{"first.service", "second.service"}, func(s systemd.UnitState) { states <- s })
	}()
	await := func(unit, active string) {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			select {
			case s := <-states:
				if s.Unit == unit && s.Active == active {
					return
				}
			case <-deadline:
				t.Fatalf("%s was never %q", unit, active)
			}
		}
	}
	await("second.service", "inactive")
	h.MustRun("systemctl", "start", "second")
	await("second.service", "active")
	h.MustRun("systemctl", "reload", "second")
	await("second.service", "reloading")
	await("second.service", "active")
	asked := time.Now()
	h.MustRun("systemctl", "stop", "--no-block", "second")
	await("second.service", "deactivating")
	t.Logf("measured: systemctl stop to deactivating: %v", time.Since(asked).Round(time.Millisecond))
	await("second.service", "inactive")

	// The bus goes away and comes back.
	h.MustRun("systemctl", "restart", "dbus")
	await("", "")
	await("second.service", "inactive")

	// The unit that is first in the list is followed once it exists.
	h.WriteFile("/etc/systemd/system/first.service", unit, 0o644)
	h.MustRun("systemctl", "daemon-reload")
	await("first.service", "inactive")

	cancel()
	<-done
}
