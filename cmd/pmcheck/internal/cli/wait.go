package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func waitCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:        "wait",
		Usage:       "block until balancers are told to use this master, or not to",
		Description: "Exit status: 0 reached, 6 not reached in time, 2 usage.",
		Flags: []cli.Flag{
			configFlag(),
			serviceFlag("wait for `SERVICE` instead of the master itself"),
			&cli.StringFlag{Name: "for", Usage: "`WHAT`: ready (balancers are told 200) or out (they are not)"},
			durationFlag("timeout", 5*time.Minute, "give up after `DURATION`"),
			jsonFlag(),
		},
		Action: func(c *cli.Context) error { return runWait(c, environ) },
	}
}

func runWait(c *cli.Context, environ []string) error {
	goal := c.String("for")
	switch goal {
	case "ready", "out":
	case "":
		return misused(c, errors.New("pmcheck wait needs --for=ready or --for=out"))
	default:
		return usageError("--for takes ready or out, not %q", goal)
	}
	timeout := durationOf(c, "timeout")
	if timeout <= 0 {
		return usageError("--timeout must be above 0, not %s", timeout)
	}
	settings := loadAnyway(c, environ)
	f := &status.Follower{Client: status.Client{Socket: settings.Socket}}
	r := waitReport{Goal: goal, Service: cmp.Or(c.String("service"), monitor.Server)}
	err := poll(c, goal, timeout, func(ctx context.Context) (state string, reached bool, err error) {
		st, err := f.Next(ctx)
		if err != nil {
			return err.Error(), false, nil // the daemon may come back
		}
		service, err := st.ServiceOrError(r.Service)
		if err != nil {
			return "", false, noService(err)
		}
		r.Answer = &service.Answer
		r.Reached = service.Serves() == (goal == "ready")
		state = fmt.Sprintf("/%s is told %d %s", service.Name, service.Answer.Code, service.Answer.Body)
		return state, r.Reached, nil
	})
	if c.Bool("json") {
		return errors.Join(text.WriteJSON(c.App.Writer, r), err)
	}
	return err
}

// waitReport is what wait --json prints.
type waitReport struct {
	Goal    string         `json:"goal"`
	Service string         `json:"service"`
	Reached bool           `json:"reached"`
	Answer  *status.Answer `json:"answer,omitempty"` // the last one; nil if the daemon gave none
}

// poll calls step until it has reached the goal or returns an error, and shows each state
// that it returns. After limit, poll returns an error with exitTimeout.
func poll(c *cli.Context, goal string, limit time.Duration,
	step func(context.Context) (state string, reached bool, err error)) error {
	ctx, cancel := context.WithTimeout(c.Context, limit)
	defer cancel()
	p := show.NewProgress(c.App.ErrWriter)
	defer p.End()
	for {
		state, reached, err := step(ctx)
		switch {
		case c.Context.Err() != nil:
			return c.Context.Err() // interrupted
		case ctx.Err() != nil:
			return &exitError{exitTimeout, fmt.Errorf("not %s within %s: %s", goal, limit, cmp.Or(p.Last, "no answer")), ""}
		case err != nil:
			return err
		case reached:
			p.Done(state)
			return nil
		case state != "":
			p.Say(state)
		}
	}
}
