package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"github.com/urfave/cli/v2"

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
		Action: showStatus,
	}
}

func showStatus(c *cli.Context) error {
	h := hostOf(c)
	hosts := c.StringSlice("host")
	if c.Bool("fleet") {
		if hosts = append(hosts, h.settings.Fleet...); len(hosts) == 0 {
			return &exitError{exitUsage, errors.New("--fleet: the configuration lists no masters as fleet"),
				"set fleet in the configuration, or name them: pmcheck status --host m1 --host m2"}
		}
	}
	var members []status.Member
	if len(hosts) > 0 {
		members = status.AskAll(c.Context, hosts)
	} else {
		own, err := h.status(c.Context)
		if err != nil {
			return err
		}
		members = []status.Member{{Status: &own}}
	}
	var err error
	switch st := members[0].Status; {
	case c.Bool("fleet") || len(members) > 1:
		err = output(c, members, func(w io.Writer) { show.Fleet(w, members) })
	case st == nil:
		err = &exitError{status: exitNoDaemon, err: errors.New(members[0].Error)}
	default:
		err = output(c, st, func(w io.Writer) { show.Status(w, *st) })
	}
	return cmp.Or(err, statusOnly(statusExit(members)))
}

func (h *host) status(ctx context.Context) (status.Status, error) {
	st, err := h.Next(ctx)
	if errors.Is(err, status.ErrNoDaemon) {
		hint := "systemctl status pmcheck; the holds are in " + h.settings.Store().Persistent
		err = &exitError{exitNoDaemon, err, portHint(h.settings.Listen) + hint}
	}
	return st, err
}

func portHint(listen string) string {
	connection, err := net.DialTimeout("tcp", listen, time.Second)
	if err != nil {
		return ""
	}
	connection.Close()
	return "something else listens on " + listen + ": systemd for pmcheck, or the old xinetd check? ss -ltnp shows which; "
}

// output prints v as JSON with --json, and calls write without it. It returns the first error of the output.
func output(c *cli.Context, v any, write func(io.Writer)) error {
	w := bufio.NewWriter(c.App.Writer)
	if !c.Bool("json") {
		write(w)
	} else {
		encoder := json.NewEncoder(w) // of what status.Client made printable
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(v) // w keeps the error
	}
	return w.Flush()
}

// statusExit returns the exit status for the worst service of the worst master, which is the greatest. What another
// program than pmcheck answers has no services.
func statusExit(members []status.Member) int {
	exit := exitOK
	for _, m := range members {
		switch {
		case m.Status == nil:
			return exitNoDaemon
		case len(m.Status.Services) == 0:
			exit = max(exit, exitUnhealthy)
		}
		for _, s := range m.Status.Services {
			switch {
			case s.Mode != drain.Ready:
				exit = max(exit, exitHeld)
			case !s.Verdict.Health.Serves():
				exit = max(exit, exitUnhealthy)
			}
		}
	}
	return exit
}
