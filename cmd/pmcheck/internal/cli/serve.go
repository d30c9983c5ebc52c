package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
	"github.com/pmcheck/pmcheck/systemd"
)

func serveCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "answer balancers (the daemon)",
		Description: "Probes the local Puppet Server in the background and answers balancers on port 9200.\n" +
			"SIGHUP reads the configuration again, SIGTERM ends the daemon.",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "listen", Usage: "answer on `ADDRESS` instead of the configured one"},
		},
		Action: func(c *cli.Context) error { return serve(c, environ) },
	}
}

// serve runs the daemon until a signal ends it.
func serve(c *cli.Context, environ []string) error {
	loaded, missing, err := loadForService(c, environ)
	if err != nil {
		return err
	}
	useOneCPU()
	log, err := newLogger(c.App.ErrWriter, loaded.Config.Log)
	if err != nil {
		return err
	}
	for _, w := range loaded.Warnings {
		log.Warn(w)
	}
	if missing != nil {
		log.Warn("Puppet is not there yet, so nothing is known of it", "error", missing)
	}
	a := agent.New(loaded.Config, loaded.File, versionString(), log)
	if err := takeListeners(a, loaded.Config); err != nil {
		return err
	}
	if err := a.Listen(c.Context); err != nil {
		return err
	}
	log.Info("serving", "version", versionString(), "address", a.Address().String(), "master", loaded.Config.Probe.Address,
		"certname", loaded.Config.Probe.Certname, "config", loaded.File)

	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	group, ctx := errgroup.WithContext(c.Context)
	group.Go(func() error { return a.Serve(ctx) })
	group.Go(func() error { return feedWatchdog(ctx, a) })
	group.Go(func() error {
		announce(ctx, a, loaded.Config.Probe.Timeout)
		k := keeper{c, environ, a, missing}
		k.keep(ctx, reload)
		return nil
	})
	err = group.Wait()
	log.Info("stopped")
	return err
}

// useOneCPU keeps the daemon from running on more than one CPU at a time,
// unless GOMAXPROCS asks for something else. With more of them the runtime
// wakes a second thread for each question, to look for work that is not there:
// at a thousand a second that is a third of the daemon's CPU time (make bench).
// One answers twenty times as many, and leaves the others to Puppet.
func useOneCPU() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
}

// keeper keeps the configuration and the status line up to date.
type keeper struct {
	*cli.Context
	environ []string
	agent   *agent.Agent
	missing error // of Puppet
}

// keep returns when ctx ends.
func (k *keeper) keep(ctx context.Context, reload <-chan os.Signal) {
	status := time.NewTicker(statusEvery)
	defer status.Stop()
	puppet := time.NewTicker(puppetEvery)
	defer puppet.Stop()
	said := k.agent.Summary()
	for {
		select {
		case <-ctx.Done():
			tellManager(k.agent, systemd.Stopping())
			return
		case <-reload:
			k.reload()
		case <-puppet.C:
			if k.missing != nil {
				k.missing = k.load()
			}
		case <-status.C:
			if now := k.agent.Summary(); now != said {
				said = now
				tellManager(k.agent, systemd.Status(now))
			}
		}
	}
}

func (k *keeper) reload() {
	failed := systemd.Reloading()
	if err := k.load(); err != nil {
		k.agent.ReloadFailed(err)
	} else {
		k.missing = nil
	}
	tellManager(k.agent, errors.Join(failed, systemd.Ready(k.agent.Summary())))
}

// load has the agent take over the configuration as it is now.
func (k *keeper) load() error {
	loaded, err := load(k.Context, k.environ)
	if err == nil {
		k.agent.Reload(loaded.Config, loaded.File)
	}
	return err
}
