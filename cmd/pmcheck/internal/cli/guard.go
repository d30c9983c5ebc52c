package cli

import (
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
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
	if c.NArg() != 2 || !slices.Contains([]string{"stop", "start", "reload", "reloaded"}, verb) {
		return usageError("guard takes stop, start, reload or reloaded, and a unit")
	}
	h := hostOf(c)
	p := h.progress(c)
	defer p.End()
	h.Say = func(line string) {
		p.Say(line)
		_ = systemd.Status(line) // of the guard's unit
	}
	h.Held = func(held drain.Hold) { p.Note(c.App.Writer, "held: "+show.Hold(held)) }
	g := &leave.Guard{
		World:     h.World,
		Unit:      name,
		Holder:    drain.Guard,
		Limits:    h.settings.Guard,
		Ask:       systemd.AskService,
		HostStops: systemd.HostStops,
	}
	if verb == "reload" || verb == "reloaded" {
		g.Holder = drain.Reload
	}
	var err error
	if verb == "stop" || verb == "reload" {
		err = guardOut(c, g, p)
	} else {
		err = guardBack(c, g, p)
	}
	_ = systemd.Status(p.Last)
	return err
}

// guardOut blocks until the service may stop or reload. It does in any case, so an error only says that
// agents may be left.
func guardOut(c *cli.Context, g *leave.Guard, p *show.Progress) error {
	if !g.Stops(c.Context) {
		return nil
	}
	err := g.Out(c.Context)
	stopped, is := errors.AsType[*leave.Error](err)
	switch {
	case err == nil:
		p.Done(g.Unit + " may " + c.Args().First() + " now") // with agents that can go nowhere else
		return nil
	case errors.Is(err, leave.ErrDied):
		p.Done("does not wait for the last agents: " + err.Error())
		return nil
	case errors.Is(err, leave.ErrCancelled):
		p.Done("stays in service: " + err.Error())
		if err := guardBack(c, g, p); err != nil {
			return err
		}
		return systemd.Start(c.Context, "pmcheck-guard@"+g.Unit+".service") // for the next stop
	case is && stopped.Kind == leave.Refused:
		p.Done("not drained, serves until it stops: " + err.Error())
		return nil
	case is:
		return &exitError{status: exitTimeout, err: err}
	}
	return writeHint(err)
}

func guardBack(c *cli.Context, g *leave.Guard, p *show.Progress) error {
	lifted, err := g.Back(c.Context)
	for _, h := range lifted {
		p.Note(c.App.Writer, "lifted: "+show.Hold(h))
	}
	return writeHint(err)
}
