package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "show mode, verdict, and what balancers are told",
		Description: "Without flags for this host, with --host for another. With --fleet, or with several\n" +
			"--host, for a pool in one table.\n" +
			"Exit status: 0 in service, 3 held, 4 not healthy, 5 no answer; for a pool, that of the worst master.\n" +
			"Example: pmcheck status --host puppet1 --host puppet2",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringSliceFlag{Name: "host", Usage: "ask `HOST` instead, such as m1 or m1:9200; repeat it for a pool"},
			&cli.BoolFlag{Name: "fleet", Usage: "ask the masters listed as fleet in the configuration"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON, the same as /status"},
		},
		Action: func(c *cli.Context) error {
			if hosts := c.StringSlice("host"); c.Bool("fleet") || len(hosts) > 1 {
				return showFleet(c, hosts)
			}
			return showStatus(c)
		},
	}
}

// statusTime limits the time that a daemon takes to answer.
const statusTime = 5 * time.Second

// showStatus shows the status of this host, or of the only one that is named.
func showStatus(c *cli.Context) error {
	settings, _ := loadAnyway(c)
	client := status.Client{Socket: settings.Socket}
	if hosts := c.StringSlice("host"); len(hosts) > 0 {
		var err error
		if client, err = status.Remote(hosts[0]); err != nil {
			return usageError("%w", err)
		}
	}
	ctx, cancel := context.WithTimeout(c.Context, statusTime)
	defer cancel()
	st, err := client.Status(ctx)
	if err != nil {
		hint := ""
		if client.URL == "" && errors.Is(err, status.ErrNoDaemon) {
			hint = portHint(settings.Listen) + "systemctl status pmcheck; the holds are in " + settings.Store().Persistent
		}
		return &exitError{exitNoDaemon, err, hint}
	}
	err = output(c, st, func(w io.Writer) { show.Status(w, st) })
	return errors.Join(err, statusOnly(statusExit(st)))
}

// portHint says if the port for balancers is taken while no daemon answers.
func portHint(listen string) string {
	connection, err := net.DialTimeout("tcp", listen, time.Second)
	if err != nil {
		return ""
	}
	connection.Close()
	return "something else listens on " + listen + ": systemd for pmcheck, or the old xinetd check? ss -ltnp shows which; "
}

// showFleet shows the status of a pool: of these hosts and, with --fleet, of those in the configuration.
func showFleet(c *cli.Context, hosts []string) error {
	if c.Bool("fleet") {
		settings, _ := loadAnyway(c)
		hosts = append(hosts, settings.Fleet...)
		if len(hosts) == 0 {
			return &exitError{exitUsage, errors.New("--fleet: the configuration lists no masters as fleet"),
				"set fleet in the configuration, or name them: pmcheck status --host m1 --host m2"}
		}
	}
	members := status.AskAll(c.Context, hosts)
	err := output(c, members, func(w io.Writer) { show.Fleet(w, members) })
	return errors.Join(err, statusOnly(fleetExit(members)))
}

// output prints v as JSON with --json, and calls write without it.
func output(c *cli.Context, v any, write func(io.Writer)) error {
	w := bufio.NewWriter(c.App.Writer) // keeps the first error
	if !c.Bool("json") {
		write(w)
	} else if err := text.WriteJSON(w, v); err != nil {
		return err
	}
	return w.Flush()
}

// statusExit returns the exit status for the worst of the services, which is the greatest. What another program than
// pmcheck answers has none.
func statusExit(st status.Status) int {
	if len(st.Services) == 0 {
		return exitUnhealthy
	}
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
