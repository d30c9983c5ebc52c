package cli

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// options says where the configuration of a command comes from.
func options(c *cli.Context) config.Options {
	return config.Options{File: c.String("config"), Environ: environ(c)}
}

// load reads the configuration for a command.
func load(c *cli.Context) (*config.Loaded, error) {
	loaded, err := config.Load(options(c))
	return loaded, errors.Join(err, loaded.Missing)
}

// loadAnyway reads the configuration for the commands that an operator and the guard need in an emergency.
// Without Puppet it lacks what only puppet.conf says. If it is broken, loadAnyway complains and returns the
// defaults, with what can be read of the socket, Puppet's port and the budget. The error says what is wrong.
func loadAnyway(c *cli.Context) (config.Config, error) {
	loaded, broken := config.Load(options(c))
	if broken == nil {
		return loaded.Config, loaded.Missing
	}
	(&exitError{exitUsage, broken, "mend it; until then this command uses the defaults"}).complain(c.App.ErrWriter)
	settings, readable := config.Default(), loaded.Config
	settings.Socket, settings.HoldsIn = readable.Socket, readable.HoldsIn
	settings.Probe.Address, settings.Budget.Database = readable.Probe.Address, readable.Budget.Database
	return settings, broken
}
