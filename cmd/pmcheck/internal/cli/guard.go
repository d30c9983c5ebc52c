package cli

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/guard"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
)

// guardCommand returns the command that pmcheck-guard@.service runs. It is not meant for
// a terminal.
func guardCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:      "guard",
		Hidden:    true,
		Usage:     "drain before a service stops, return after it has started",
		ArgsUsage: "stop|start UNIT",
		Flags:     []cli.Flag{configFlag()},
		Action:    func(c *cli.Context) error { return runGuard(c, environ) },
	}
}

func runGuard(c *cli.Context, environ []string) error {
	verb, name := c.Args().Get(0), c.Args().Get(1)
	if c.NArg() != 2 || verb != "stop" && verb != "start" {
		return usageError("guard takes stop or start, and a unit")
	}
	settings := loadAnyway(c, environ)
	progress := render.NewProgress(c.App.ErrWriter)
	defer progress.End()
	g := guard.New(name, settings, c.App.ErrWriter, progress)
	if verb == "stop" && !g.Stops(c.Context) {
		return nil
	}
	var err error
	if g.Slot, err = slotFor(c, environ, settings, g.Hold()); err != nil {
		fmt.Fprintf(c.App.ErrWriter, "goes on without the budget: %v\n", err)
	}
	if verb == "start" {
		return writeHint(g.AfterStart(c.Context))
	}
	err = g.BeforeStop(c.Context)
	if errors.Is(err, guard.ErrNotIdle) {
		return &exitError{status: exitTimeout, err: err}
	}
	return writeHint(err)
}
