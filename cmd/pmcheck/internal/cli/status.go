package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/demo"
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
	members, err := askedMembers(c, h)
	if err != nil {
		return err
	}

	if err := writeMembers(c, members); err != nil {
		return err
	}
	return statusOnly(statusExit(members))
}

// askedMembers returns the masters that the flags name, and without a name this one.
func askedMembers(c *cli.Context, h *host) ([]member, error) {
	hosts := c.StringSlice("host")
	if c.Bool("fleet") {
		hosts = append(hosts, h.settings.Fleet...)
	}
	if len(hosts) > 0 {
		return askMembers(c.Context, hosts), nil
	}
	if c.Bool("fleet") {
		return nil, &exitError{
			status: exitUsage,
			err:    errors.New("--fleet: the configuration lists no masters as fleet"),
			hint:   "set fleet in the configuration, or name them: pmcheck status --host m1 --host m2",
		}
	}

	own, err := h.status(c.Context)
	if err != nil {
		return nil, err
	}
	return []member{{Status: &own}}, nil
}

// writeMembers writes a pool as a table, and a single master in full.
func writeMembers(c *cli.Context, members []member) error {
	if c.Bool("fleet") || len(members) > 1 {
		return output(c, members, func(w io.Writer) { writeMembersTable(w, members) })
	}

	st := members[0].Status
	if st == nil {
		return &exitError{status: exitNoDaemon, err: errors.New(members[0].Error)}
	}
	return output(c, st, func(w io.Writer) { WriteStatus(w, *st) })
}

// status returns the status of this host's daemon. Its error has a hint.
func (h *host) status(ctx context.Context) (status.Status, error) {
	st, err := h.follow(ctx)
	if errors.Is(err, client.ErrNoDaemon) {
		err = &exitError{status: exitNoDaemon, err: err, hint: h.absenceHint(ctx, err)}
	}
	return st, err
}

// absenceHint returns what helps if the daemon has not answered, because of err.
func (h *host) absenceHint(ctx context.Context, err error) string {
	if errors.Is(err, context.DeadlineExceeded) { // its socket has taken the connection
		return "a process has its socket and does not answer: systemctl restart pmcheck"
	}
	hint := "systemctl status pmcheck; the holds are in " + h.settings.Store().Persistent
	return portHint(ctx, h.settings.Listen) + hint
}

// portHint returns the beginning of a hint if a process accepts connections on the daemon's port.
func portHint(ctx context.Context, listen string) string {
	connection, err := net.DialTimeout("tcp", listen, time.Second)
	if err != nil {
		return ""
	}
	connection.Close()

	answered := askMembers(ctx, []string{connection.RemoteAddr().String()})[0].Status
	if answered != nil && answered.Certname == demo.Certname {
		return "a demo answers on " + listen + ": first export the two variables that it has printed; "
	}
	if answered != nil && len(answered.Services) > 0 {
		return "pmcheck answers on " + listen + ", and not on its socket: systemctl restart pmcheck; "
	}
	return "something else listens on " + listen + ": systemd for pmcheck, or the old xinetd check? ss -ltnp shows which; "
}

// output prints v as JSON with --json, and calls write without it. It returns the first error of the output.
func output(c *cli.Context, v any, write func(io.Writer)) error {
	w := bufio.NewWriter(c.App.Writer)
	if !c.Bool("json") {
		write(w)
		return w.Flush()
	}

	encoder := json.NewEncoder(w) // of what client.Daemon made printable
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(v) // w keeps the error
	return w.Flush()
}

// statusExit returns the exit status for the worst service of the worst master: the greatest one.
func statusExit(members []member) int {
	exit := exitOK
	for _, m := range members {
		if m.Status == nil {
			return exitNoDaemon
		}

		// Another program than pmcheck has answered.
		if len(m.Status.Services) == 0 {
			exit = max(exit, exitUnhealthy)
		}
		for _, s := range m.Status.Services {
			exit = max(exit, serviceExit(s))
		}
	}
	return exit
}

func serviceExit(s status.ServiceStatus) int {
	if s.Mode != drain.Ready {
		return exitHeld
	}
	if !s.Verdict.Health.Serves() {
		return exitUnhealthy
	}
	return exitOK
}
