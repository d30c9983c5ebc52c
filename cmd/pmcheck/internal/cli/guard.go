package cli

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// guardCommand returns the command that pmcheck-guard@.service runs. It is not meant for
// a terminal.
func guardCommand() *cli.Command {
	return &cli.Command{
		Name:      "guard",
		Hidden:    true,
		Usage:     "take the master out before a service stops or reloads, return it after that",
		ArgsUsage: "stop|start|reload|reloaded UNIT",
		Flags:     []cli.Flag{configFlag()},
		Action:    runGuard,
	}
}

func runGuard(c *cli.Context) error {
	verb, name := c.Args().Get(0), c.Args().Get(1)
	holder := map[string]string{
		"stop": drain.Guard, "start": drain.Guard, "reload": drain.Reload, "reloaded": drain.Reload,
	}[verb]
	if c.NArg() != 2 || holder == "" || strings.HasPrefix(name, "-") {
		return usageError("guard takes stop, start, reload or reloaded, and a unit")
	}
	h := hostOf(c)
	h.Say = func(line string) {
		h.progress.Say(line)
		_ = systemd.Status(line) // of the guard's unit
	}
	g := &leave.Guard{
		World:  h.World,
		Unit:   name,
		Holder: holder,
		Limits: h.settings.Guard,
		Ask:    systemd.AskService,
	}
	var err error
	if verb == "stop" || verb == "reload" {
		err = guardOut(c, h, g)
	} else {
		err = g.Back(c.Context)
	}
	_ = systemd.Status(h.progress.Last)
	return err
}

// guardOut blocks until the service may stop or reload. It does in any case, so an error only says that
// agents may be left.
func guardOut(c *cli.Context, h *host, g *leave.Guard) error {
	if !g.Stops(c.Context) {
		return nil
	}
	err := g.Out(c.Context)
	stopped, is := errors.AsType[*leave.Error](err)
	switch {
	case err == nil:
		h.progress.Done(g.Unit + " may " + c.Args().First() + " now") // with agents that can go nowhere else
		return nil
	case errors.Is(err, leave.ErrDied):
		h.progress.Done("does not wait for the last agents: " + err.Error())
		return nil
	case errors.Is(err, leave.ErrCancelled):
		h.progress.Done("stays in service: " + err.Error())
		if err := g.Back(c.Context); err != nil {
			return err
		}
		return systemd.Start(c.Context, "pmcheck-guard@"+g.Unit+".service") // for the next stop
	case is && stopped.Kind == leave.Refused:
		h.progress.Done("not drained, serves until it stops: " + err.Error())
		return nil
	}
	return err
}
