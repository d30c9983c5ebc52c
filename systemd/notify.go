// Package systemd is pmcheck's side of the service manager. Where there is no
// service manager, its functions do nothing.
package systemd

import (
	"fmt"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready tells the service manager that the daemon answers, and a status line
// for operators.
func Ready(status string) error { return notify(daemon.SdNotifyReady, "STATUS="+oneLine(status)) }

// Status changes the status line.
func Status(status string) error { return notify("STATUS=" + oneLine(status)) }

// Reloading tells the service manager that the configuration is being read
// again; Ready ends it.
func Reloading() error { return notify(daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec()) }

// Stopping tells the service manager that the daemon is about to end.
func Stopping() error { return notify(daemon.SdNotifyStopping) }

// notify sends assignments in one datagram. Without a NOTIFY_SOCKET it does nothing
// and returns nil.
func notify(assignments ...string) error {
	if _, err := daemon.SdNotify(false, strings.Join(assignments, "\n")); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
