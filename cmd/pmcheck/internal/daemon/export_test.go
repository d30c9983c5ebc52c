package daemon

import "github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"

// Use replaces the configuration in use, as a reload does. Run must not reload at the same time.
func (d *Daemon) Use(loaded *config.Loaded) { d.use(loaded) }

// CloseSocket closes the unix socket of a daemon that does not run.
func (d *Daemon) CloseSocket() { d.sockets[0].Close() }
