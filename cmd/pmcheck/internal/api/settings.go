package api

import (
	"cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Uses reports whether a daemon has read its configuration from this file. No file
// counts as the default one, which may have been created or removed since.
func (c ConfigStatus) Uses(file string) bool {
	return c.Holds.Persistent != "" && cmp.Or(c.File, config.DefaultFile) == cmp.Or(file, config.DefaultFile)
}

// Settings returns the settings of a running daemon that commands need when they cannot
// read their own.
func (s Status) Settings(socket string) config.Config {
	settings, holds := config.Default(), s.Config.Holds
	settings.Socket = socket
	settings.Holds = config.Holds{Persistent: holds.Persistent, UntilReboot: holds.UntilReboot}
	settings.InitialMode = holds.InitialMode
	settings.Probe.Address = s.Probe.Address
	if s.Budget != nil { // it cannot be asked without the configuration, which refuses a drain
		settings.Budget.Database = s.Budget.Database
	}
	return settings
}
