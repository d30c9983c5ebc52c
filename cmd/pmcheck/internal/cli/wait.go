package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
)

func waitCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:        "wait",
		Usage:       "block until balancers are told what is waited for",
		Description: "Exit status: 0 reached, 6 not within the time, 2 usage.",
		Flags: []cli.Flag{
			configFlag(),
			serviceFlag("wait for `SERVICE` instead of the master itself"),
			&cli.StringFlag{Name: "for", Usage: "`WHAT`: ready (balancers are told 200) or out (they are told otherwise)"},
			durationFlag("timeout", 5*time.Minute, "give up after `DURATION`"),
		},
		Action: func(c *cli.Context) error { return wait(c, environ) },
	}
}

func wait(c *cli.Context, environ []string) error {
	goal := c.String("for")
	if goal != "ready" && goal != "out" {
		return usageError("--for takes ready or out, not %q", goal)
	}
	if durationOf(c, "timeout") <= 0 {
		return usageError("--timeout %s is not above 0", durationOf(c, "timeout"))
	}
	settings, err := loadOwn(c, environ)
	if err != nil {
		return err
	}
	name := c.String("service")
	if name == "" {
		name = monitor.Server
	}
	ctx, cancel := context.WithTimeout(c.Context, durationOf(c, "timeout"))
	defer cancel()
	f := &follower{client: api.Client{Socket: settings.Socket}}
	p := render.NewProgress(c.App.ErrWriter)
	defer p.End()
	for {
		reached, state, err := ask(ctx, f, name, goal)
		switch {
		case c.Context.Err() != nil:
			return c.Context.Err() // interrupted
		case ctx.Err() != nil:
			return &exitError{exitTimeout, fmt.Errorf("not %s within %s: %s", goal, durationOf(c, "timeout"), p.Last)}
		case err != nil:
			return err
		case reached:
			p.Done(state)
			return nil
		}
		p.Say(state)
	}
}

// ask reports whether the goal is reached, and how things are. The error says
// that the goal never will be reached.
func ask(ctx context.Context, f *follower, name, goal string) (reached bool, state string, err error) {
	status, err := f.next(ctx)
	if err != nil {
		return false, err.Error(), nil
	}
	service, err := status.ServiceOrError(name)
	if err != nil {
		return false, "", noService(err)
	}
	serves := service.Answer.Code == 200
	state = fmt.Sprintf("%s is told %d %s", service.Answers[0].Path, service.Answer.Code, service.Answer.Body)
	return serves == (goal == "ready"), state, nil
}
