package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func statusCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "show mode, verdict, and what balancers are told",
		Description: "Without flags for this host, with --host for another. With --fleet, or with several\n" +
			"--host, for a pool in one table.\n" +
			"Exit status: 0 balancers are told to use the master, 3 held, 4 not healthy,\n" +
			"5 the daemon does not answer, 2 usage; for a pool, that of the worst master.",
		Flags: []cli.Flag{
			configFlag(),
			serviceFlag("show `SERVICE` only"),
			&cli.StringSliceFlag{Name: "host", Usage: "ask `HOST` instead, such as m1 or m1:9200; repeat it for a pool"},
			&cli.BoolFlag{Name: "fleet", Usage: "ask the masters listed as fleet in the configuration"},
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "refresh until interrupted"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON, the same as /status"},
		},
		Action: func(c *cli.Context) error { return showStatus(c, environ) },
	}
}

func showStatus(c *cli.Context, environ []string) error {
	if c.Bool("watch") && c.Bool("json") {
		return usageError("--watch and --json cannot be combined")
	}
	hosts := c.StringSlice("host")
	pool := c.Bool("fleet") || len(hosts) > 1
	if c.IsSet("service") && (c.Bool("watch") || pool) {
		return usageError("--service cannot be combined with --watch or several hosts")
	}
	if !pool {
		client, hint, err := oneClient(c, environ, hosts)
		if err != nil {
			return err
		}
		return showOne(c, client, hint)
	}
	if c.Bool("fleet") {
		settings, err := loadLocal(c, environ)
		if err != nil {
			return err
		}
		hosts = append(hosts, settings.Fleet...)
		if len(hosts) == 0 {
			return &exitError{exitUsage, errors.New("--fleet: the configuration lists no masters as fleet"),
				"set fleet in the configuration, or name them: pmcheck status --host m1 --host m2"}
		}
	}
	clients, err := remotes(hosts)
	if err != nil {
		return err
	}
	return showFleet(c, hosts, clients)
}

// oneClient returns the client of this host's daemon, or of the only host that is named,
// and what to do if no daemon answers.
func oneClient(c *cli.Context, environ, hosts []string) (client status.Client, hint string, err error) {
	if len(hosts) == 0 {
		settings := loadAnyway(c, environ)
		return status.Client{Socket: settings.Socket},
			"systemctl status pmcheck; the holds are in " + settings.Store().Persistent, nil
	}
	clients, err := remotes(hosts)
	if err != nil {
		return client, "", err
	}
	return clients[0], "", nil
}

// remotes returns clients for /status on other hosts.
func remotes(hosts []string) ([]status.Client, error) {
	clients := make([]status.Client, len(hosts))
	for i, host := range hosts {
		url, err := status.MemberURL(host)
		if err != nil {
			return nil, usageError("%w", err)
		}
		clients[i].URL = url.String()
	}
	return clients, nil
}

// statusTime limits the time that a daemon takes to answer.
const statusTime = 5 * time.Second

// showOne shows the status of one host, or of one of its services. The hint says what to
// do if no daemon answers.
func showOne(c *cli.Context, client status.Client, hint string) error {
	ask := func(ctx context.Context) (status.Status, error) {
		ctx, cancel := context.WithTimeout(ctx, statusTime)
		defer cancel()
		return client.Status(ctx)
	}
	if c.Bool("watch") {
		return show.Watch(c.Context, c.App.Writer, func(ctx context.Context) show.Screen {
			return show.StatusScreen(ask(ctx))
		})
	}
	st, err := ask(c.Context)
	switch {
	case errors.Is(err, status.ErrNoDaemon) || err != nil && client.URL != "":
		return &exitError{exitNoDaemon, err, hint}
	case err != nil:
		return err
	}
	if err := st.Only(c.String("service")); err != nil {
		return noService(err)
	}
	return output(c, st, func(w io.Writer) { show.Status(w, st) }, statusExit(st))
}

// showFleet shows the status of a pool.
func showFleet(c *cli.Context, hosts []string, clients []status.Client) error {
	if c.Bool("watch") {
		return show.Watch(c.Context, c.App.Writer, func(ctx context.Context) show.Screen {
			return show.FleetScreen(status.AskAll(ctx, hosts, clients))
		})
	}
	members := status.AskAll(c.Context, hosts, clients)
	return output(c, members, func(w io.Writer) { show.Fleet(w, members) }, fleetExit(members))
}

// statusExit returns the exit status for the worst of the services, which is the greatest.
func statusExit(st status.Status) int {
	exit := exitOK
	for _, s := range st.Services {
		switch {
		case s.Mode != drain.Ready:
			exit = max(exit, exitHeld)
		case !s.Verdict.Health.Serves():
			exit = max(exit, exitUnhealthy)
		}
	}
	return exit
}

// fleetExit returns the exit status for the worst of the masters, which is the greatest.
func fleetExit(members []status.Member) int {
	exit := exitOK
	for _, m := range members {
		if m.Status == nil {
			return exitNoDaemon
		}
		exit = max(exit, statusExit(*m.Status))
	}
	return exit
}
