package config

import (
	"net/netip"
	"time"
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
	// Shutdown is how long both may take while the host shuts down. systemd 252 forces a reboot after 30 minutes
	// (JobTimeoutSec of reboot.target and poweroff.target); Puppet Server needs up to a minute of them to stop.
	Shutdown time.Duration `yaml:"shutdown" min:"0s" max:"28m"`
	// Return is how long the hold stays after a start that does not become healthy.
	Return time.Duration `yaml:"return" min:"0s" max:"1h"`
}

// Gate says whom pmcheck-gate.service leaves alone.
type Gate struct {
	// Except lists the networks whose connections are never refused.
	Except []netip.Prefix `yaml:"except"`
}
