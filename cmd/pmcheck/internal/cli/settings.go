package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// configFlag returns the flag that names the configuration file. Like every flag, it
// comes after the command.
func configFlag() *cli.StringFlag {
	f := subConfigFlag()
	f.EnvVars = []string{"PMCHECK_CONFIG"}
	return f
}

// subConfigFlag is configFlag for a subcommand. The flag may also come before that.
func subConfigFlag() *cli.StringFlag {
	return &cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "read `FILE` instead of " + config.DefaultFile}
}

// options says where the configuration of a command comes from.
func options(c *cli.Context) config.Options {
	o := config.Options{Environ: environ(c)}
	for _, level := range slices.Backward(c.Lineage()) {
		if level.IsSet("config") {
			o.File = level.String("config")
		}
	}
	return o
}

// load reads the configuration for a command.
func load(c *cli.Context) (*config.Loaded, error) {
	loaded, err := config.Load(options(c))
	if err != nil {
		return nil, &exitError{status: exitUsage, err: err}
	}
	return loaded, nil
}

// loadAnyway reads the configuration for the commands that an operator and the guard need in an emergency.
// Without Puppet it lacks what only puppet.conf says. If it is broken, loadAnyway complains and returns the
// defaults, with what can be read of the socket, Puppet's port and the budget. The error says what is wrong.
func loadAnyway(c *cli.Context) (config.Config, error) {
	loaded, err := config.Load(options(c))
	if err == nil {
		return loaded.Config, nil
	}
	loaded, broken := config.Check(options(c))
	if broken == nil {
		return loaded.Config, err
	}
	(&exitError{exitUsage, broken, "mend it; until then this command uses the defaults"}).complain(c.App.ErrWriter)
	settings, readable := config.Default(), loaded.Config
	settings.Socket, settings.HoldsIn = readable.Socket, readable.HoldsIn
	settings.Probe.Address, settings.Budget.Database = readable.Probe.Address, readable.Budget.Database
	return settings, err
}
