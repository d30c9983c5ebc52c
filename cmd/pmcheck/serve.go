package main

import (
	"errors"
	"os"
	"os/signal"
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
	loaded, err := load(c, environ)
	if err != nil {
		return err
	}
	log, err := newLogger(c.App.ErrWriter, loaded.Config.Log)
	if err != nil {
		return err
	}
	for _, w := range loaded.Warnings {
		log.Warn(w)
	}
	a := agent.New(loaded.Config, loaded.File, versionString(), log)
	if err := takeListeners(a, loaded.Config.Listen); err != nil {
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
		status := time.NewTicker(statusEvery)
		defer status.Stop()
		said := a.Summary()
		for {
			select {
			case <-ctx.Done():
				tellManager(a, systemd.Stopping())
				return nil
			case <-reload:
				reloadConfig(c, environ, a)
			case <-status.C:
				if now := a.Summary(); now != said {
					said = now
					tellManager(a, systemd.Status(now))
				}
			}
		}
	})
	err = group.Wait()
	log.Info("stopped")
	return err
}

func reloadConfig(c *cli.Context, environ []string, a *agent.Agent) {
	failed := systemd.Reloading()
	loaded, err := load(c, environ)
	if err != nil {
		a.ReloadFailed(err)
	} else {
		a.Reload(loaded.Config, loaded.File)
	}
	tellManager(a, errors.Join(failed, systemd.Ready(a.Summary())))
}
