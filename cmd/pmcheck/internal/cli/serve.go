package cli

import (
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

func serveCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "answer balancers (the daemon)",
		Description: "Probes the local Puppet Server in the background and answers balancers on port 9200.\n" +
			"SIGHUP reloads the configuration, SIGTERM stops the daemon.",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "listen", Usage: "answer on `ADDRESS` instead of the configured one"},
		},
		Action: func(c *cli.Context) error { return serve(c, environ) },
	}
}

// serve runs the daemon until a signal ends it.
func serve(c *cli.Context, environ []string) error {
	last := daemon.NewLastGood(environ)
	loaded, err := loadToStart(c, environ, last)
	if err != nil {
		return err
	}
	useOneCPU()
	log := daemon.NewLogger(c.App.ErrWriter, loaded.Config.Log)
	for _, w := range loaded.Warnings {
		log.Warn(w)
	}
	if loaded.Missing != nil {
		log.Warn("Puppet's files are missing, so the verdict is unknown until they exist", "error", loaded.Missing)
	}
	d := daemon.New(loaded.Config, loaded.File, daemon.ProgramVersion(), log)
	d.Runtime = daemon.RuntimeDirectory(environ)
	if loaded.Mistakes != nil {
		d.StartedWithLast(loaded.Mistakes)
	} else {
		keep(last, loaded.Loaded, log)
	}
	if err := d.TakeListeners(); err != nil {
		return err
	}
	if err := d.Listen(c.Context); err != nil {
		return err
	}
	log.Info("serving",
		"version", daemon.ProgramVersion(),
		"address", d.Address().String(),
		"master", loaded.Config.Probe.Address,
		"certname", loaded.Config.Probe.Certname,
		"config", loaded.File)

	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	err = d.Run(c.Context, daemon.Keeper{
		Load: func() (*config.Loaded, error) {
			newer, err := load(c, environ)
			if err == nil {
				keep(last, newer, log)
			}
			return newer, err
		},
		Reload:        reload,
		PuppetMissing: loaded.Missing,
	})
	log.Info("stopped")
	return err
}

// useOneCPU keeps the daemon from running on more than one CPU at a time, unless
// GOMAXPROCS is set. With more CPUs the runtime wakes a second thread for each
// request, to look for work that does not exist: at a thousand requests a second
// that is a third of the daemon's CPU time (make bench). One CPU answers twenty
// times as many, and leaves the others to Puppet.
func useOneCPU() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// started is a configuration with which the daemon can start.
type started struct {
	*config.Loaded
	// Missing names the Puppet files that do not exist. The daemon is often installed
	// before Puppet, and answers unknown until Puppet is there.
	Missing error
	// Mistakes are those in the current file, if the last good one is used instead.
	Mistakes error
}

// loadToStart reads the configuration for a daemon that starts. If it has mistakes,
// the last good one is used: a restart must not take a healthy master out.
func loadToStart(c *cli.Context, environ []string, last daemon.LastGood) (started, error) {
	o := options(c, environ)
	s, mistakes := loadForService(o)
	if mistakes == nil {
		return s, nil
	}
	file, _ := config.Readable(o)
	kept, err := last.File()
	if err != nil {
		return started{}, mistakes
	}
	o.File = kept
	if s, err = loadForService(o); err != nil {
		return started{}, mistakes // the mistake may be in an environment variable
	}
	s.File, s.Mistakes = file, mistakes
	return s, nil
}

// loadForService reads the configuration for the daemon. Missing Puppet files are not
// an error by themselves. If there are mistakes too, the error names both.
func loadForService(o config.Options) (started, error) {
	loaded, missing := config.Load(o)
	if missing != nil {
		var err error
		if loaded, err = config.Check(o); err != nil {
			return started{}, usageError("%w", missing)
		}
	}
	return started{Loaded: loaded, Missing: missing}, nil
}

// keep saves a copy of a valid configuration. The daemon uses it if it has to start
// while the file is broken.
func keep(last daemon.LastGood, loaded *config.Loaded, log *slog.Logger) {
	if err := last.Keep(loaded.Content); err != nil {
		log.Warn("cannot save a copy of this configuration for a restart with a broken file", "error", err)
	}
}
