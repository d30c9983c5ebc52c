package config

import (
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// Guard says how long the guard may wait. pmcheck-guard@.service runs it before
// Puppet Server stops and after it has started; its own timeouts are above the
// largest values here.
type Guard struct {
	// Turn is how long a stop waits for its turn: for servers that are expected back,
	// and for a window in which no other master leaves.
	Turn time.Duration `yaml:"turn" min:"0s" max:"1h"`
	// Wait is how long a stop waits, once drained, until agents have left.
	Wait time.Duration `yaml:"wait" min:"0s" max:"1h"`
	// Shutdown is how long both may take while the host shuts down.
	Shutdown time.Duration `yaml:"shutdown" min:"0s" max:"30m"`
	// Return is how long the hold stays after a start that does not become healthy.
	Return time.Duration `yaml:"return" min:"0s" max:"1h"`
}

// forced is when systemd reboots or powers off by force: JobTimeoutSec of reboot.target and
// poweroff.target, counted from when the host was told to, as in systemd 252.
// stopping is what a shutdown needs after guard.shutdown: the packages of Puppet Server give
// its stop 60 s, and other units stop after it.
const (
	forced   = 30 * time.Minute
	stopping = 2 * time.Minute
)

// warnings returns a sentence about what is valid but leaves Puppet Server no time to stop.
func (g Guard) warnings() []string {
	if g.Shutdown <= forced-stopping {
		return nil
	}
	return []string{"guard.shutdown is " + text.Duration(g.Shutdown) + ", but systemd forces a reboot after " +
		text.Duration(forced) + " (JobTimeoutSec of reboot.target and poweroff.target), before Puppet Server has " +
		"stopped (set at most " + text.Duration(forced-stopping) + ")"}
}

func defaultGuard() Guard {
	return Guard{
		Turn:     20 * time.Minute,
		Wait:     5 * time.Minute,
		Shutdown: 5 * time.Minute,
		Return:   10 * time.Minute,
	}
}
