package systemd

import (
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Watchdog returns the time within which the service manager wants to hear
// Ping again, or it restarts the daemon; 0 if it does not care.
func Watchdog() (time.Duration, error) {
	within, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return 0, fmt.Errorf("watchdog of the service manager: %w", err)
	}
	return within, nil
}

// Ping tells the service manager that the daemon does its work.
func Ping() error { return notify(daemon.SdNotifyWatchdog) }
