package config

import "time"

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

func defaultGuard() Guard {
	return Guard{
		Turn:     20 * time.Minute,
		Wait:     5 * time.Minute,
		Shutdown: 5 * time.Minute,
		Return:   10 * time.Minute,
	}
}
