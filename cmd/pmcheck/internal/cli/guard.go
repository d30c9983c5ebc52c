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
	verb := c.Args().Get(0)
	unit := c.Args().Get(1)
	holder := guardHolder(verb)
	if c.NArg() != 2 || holder == "" || strings.HasPrefix(unit, "-") {
		return usageError("guard takes stop, start, reload or reloaded, and a unit")
	}

	h := hostOf(c)
	h.world.Say = func(line string) {
		h.progress.Say(line)
		_ = systemd.Status(line) // of the guard's unit
	}
	g := &leave.Guard{
		World:  h.world,
		Unit:   unit,
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

// guardHolder returns who holds while a service does what the verb says; empty if the verb is not known.
func guardHolder(verb string) string {
	switch verb {
	case "stop", "start":
		return drain.Guard
	case "reload", "reloaded":
		return drain.Reload
	}
	return ""
}

// guardOut blocks until the service may stop or reload. The service does so in any case: an error only says that
// agents may be left.
func guardOut(c *cli.Context, h *host, g *leave.Guard) error {
	if !g.Stops(c.Context) {
		return nil
	}

	err := g.Out(c.Context)
	if err == nil {
		// Agents that can go nowhere else may be left.
		h.progress.Done(g.Unit + " may " + c.Args().First() + " now")
		return nil
	}
	if errors.Is(err, leave.ErrDied) {
		h.progress.Done("does not wait for the last agents: " + err.Error())
		return nil
	}
	if errors.Is(err, leave.ErrCancelled) {
		h.progress.Done("stays in service: " + err.Error())
		return guardAgain(c, g)
	}
	stopped, is := errors.AsType[*leave.Error](err)
	if is && stopped.Kind == leave.Gone {
		h.progress.Done("not drained, serves until it stops: " + err.Error())
		return nil
	}
	return err
}

// guardAgain returns the master, and starts the guard's unit for the next stop.
func guardAgain(c *cli.Context, g *leave.Guard) error {
	if err := g.Back(c.Context); err != nil {
		return err
	}
	return systemd.Start(c.Context, systemd.GuardUnit(g.Unit))
}
