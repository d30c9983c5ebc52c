// Package systemd is pmcheck's interface to systemd, the service manager. Where there is
// none, notifications do nothing.
package systemd

import (
	"fmt"
	"net"
	"strings"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/pmcheck/pmcheck/check/text"
)

// maxStatus bounds a status line, in bytes.
const maxStatus = 1024

// Ready tells the service manager that the daemon is ready, and sends a status line for
// operators.
func Ready(status string) error {
	return notify(daemon.SdNotifyReady, "STATUS="+text.Printable(status, maxStatus))
}

// Status changes the status line.
func Status(status string) error { return notify("STATUS=" + text.Printable(status, maxStatus)) }

// Reloading tells the service manager that the configuration is being read
// again; Ready ends it.
func Reloading() error { return notify(daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec()) }

// Stopping tells the service manager that the daemon is about to end.
func Stopping() error { return notify(daemon.SdNotifyStopping) }

// Ping tells the service manager's watchdog that the daemon is working.
func Ping() error { return notify(daemon.SdNotifyWatchdog) }

// notify sends assignments in one datagram. Without a NOTIFY_SOCKET it does nothing
// and returns nil.
func notify(assignments ...string) error {
	if _, err := daemon.SdNotify(false, strings.Join(assignments, "\n")); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}

// Names of the sockets that the service manager may pass: FileDescriptorName=
// in the socket units.
const (
	HTTPSocket   = "http"   // where balancers ask
	StatusSocket = "status" // the unix socket that the commands read
)

// Listeners returns the sockets that the service manager has passed to this process, by name. A second call
// returns none. Closing a listener leaves the socket open in the service manager, and its file in place.
func Listeners() (map[string][]net.Listener, error) { return activation.ListenersWithNames() }
