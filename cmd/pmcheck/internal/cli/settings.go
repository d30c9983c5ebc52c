package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// configFlag returns the flag that names the configuration file. Like every flag, it
// comes after the command.
func configFlag() cli.Flag {
	f := subConfigFlag()
	f.EnvVars = []string{"PMCHECK_CONFIG"}
	return f
}

// subConfigFlag is configFlag for a subcommand. The flag may also come before that.
func subConfigFlag() *cli.StringFlag {
	return &cli.StringFlag{Name: "config", Aliases: []string{"c"}, Usage: "read `FILE` instead of " + config.DefaultFile}
}

// configFile returns the value of configFlag, or of subConfigFlag.
func configFile(c *cli.Context) string {
	for _, level := range c.Lineage() {
		if level.IsSet("config") {
			return level.String("config")
		}
	}
	return ""
}

// load reads the configuration for a command. The flag --listen overrides the setting.
func load(c *cli.Context, environ []string) (*config.Loaded, error) {
	loaded, err := config.Load(options(c, environ))
	return loaded, mistakes(err)
}

// mistakes returns err, if it is not nil, as the mistakes of a configuration.
func mistakes(err error) error {
	if err == nil {
		return nil
	}
	return usageError("%w", err)
}

func options(c *cli.Context, environ []string) config.Options {
	o := config.Options{File: configFile(c), Environ: environ}
	if c.IsSet("listen") {
		o.Listen = new(c.String("listen"))
	}
	return o
}

// loadLocal reads the configuration for a command that does not contact the master. It
// works on a host where Puppet is missing or broken.
func loadLocal(c *cli.Context, environ []string) (config.Config, error) {
	loaded, err := config.Check(options(c, environ))
	if err != nil {
		return config.Config{}, usageError("%w", err)
	}
	return loaded.Config, nil
}

// loadAnyway is loadLocal for the commands that an operator and the guard need in an emergency.
// If the configuration is broken, it returns the defaults, with what can be read of the socket, Puppet's
// port and the budget.
func loadAnyway(c *cli.Context, environ []string) config.Config {
	loaded, err := config.Check(options(c, environ))
	if err == nil {
		return loaded.Config
	}
	broken := exitError{exitUsage, err, "mend it; until then the defaults are used"}
	broken.complain(c.App.ErrWriter)
	settings, readable := config.Default(), loaded.Config
	settings.Socket, settings.HoldsIn = readable.Socket, readable.HoldsIn
	settings.Probe.Address, settings.Budget.Database = readable.Probe.Address, readable.Budget.Database
	return settings
}
