package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
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

// loadToAsk is loadLocal for the commands that an operator needs in an emergency. If the
// configuration is broken, it takes the settings from the running daemon.
func loadToAsk(c *cli.Context, environ []string) (config.Config, error) {
	return loadOrAsk(c, environ, false)
}

// loadOwn is loadToAsk for the commands that read, write or remove holds. They must use
// the daemon's directories, or the holds have no effect. Directories that the daemon
// names are used if the readable part of the configuration has the same ones, or if root
// would trust them anyway: the daemon's user must not make root remove other files.
func loadOwn(c *cli.Context, environ []string) (config.Config, error) {
	return loadOrAsk(c, environ, true)
}

// loadOrAsk reads the configuration, or asks the daemon. With holds, it checks that the
// daemon's directories can be trusted.
func loadOrAsk(c *cli.Context, environ []string, holds bool) (config.Config, error) {
	settings, err := loadLocal(c, environ)
	if err == nil {
		return settings, nil
	}
	file, readable := config.Readable(options(c, environ))
	status, lost := api.Client{Socket: readable.Socket}.Ask(c.Context)
	if lost != nil || !status.Config.Uses(file) {
		return config.Config{}, &exitError{exitUsage, err, "mend it: no daemon that has read it before answers on " +
			readable.Socket}
	}
	settings = status.Settings(readable.Socket)
	if holds && settings.Holds != readable.Holds {
		if refused := settings.Store().CheckTrusted(); refused != nil {
			refused = fmt.Errorf("the daemon looks for holds in %s, "+
				"which is not trusted while the configuration is broken: %w", settings.Holds.Persistent, refused)
			return config.Config{}, &exitError{exitUsage, errors.Join(err, refused), "mend the configuration, " +
				"or name both directories in PMCHECK_HOLDS_PERSISTENT and PMCHECK_HOLDS_UNTIL_REBOOT"}
		}
	}
	broken := exitError{exitUsage, err, "mend it; until then the settings of the running daemon are used"}
	broken.complain(c.App.ErrWriter)
	return settings, nil
}
