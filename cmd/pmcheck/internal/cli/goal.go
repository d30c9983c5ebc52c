package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/drain"
)

// idleEvery is how often is looked whether a goal is reached.
const idleEvery = 250 * time.Millisecond

// patience is the value of --wait, a flag that may be given with a duration
// or without.
type patience struct {
	wanted bool
	limit  time.Duration
}

// waitOption is the flag --wait. Its value can only be joined to it, and the help
// has to show that.
type waitOption struct{ *cli.GenericFlag }

func waitFlag(usage string) cli.Flag {
	return waitOption{&cli.GenericFlag{Name: "wait", Usage: usage, Value: &patience{limit: 5 * time.Minute}}}
}

// String is the flag's line in the help.
func (w waitOption) String() string {
	return fmt.Sprintf("--wait[=10m]\t%s (default: %s)", w.Usage, w.Value)
}

// IsBoolFlag lets the flag stand without a value.
func (p *patience) IsBoolFlag() bool { return true }

// Set implements flag.Value.
func (p *patience) Set(s string) error {
	if s == "true" || s == "false" {
		p.wanted = s == "true"
		return nil
	}
	limit, err := time.ParseDuration(s)
	if err != nil {
		return errors.New(durationProblem(s))
	}
	if limit <= 0 {
		return fmt.Errorf("%s is not above 0", s)
	}
	p.wanted, p.limit = true, limit
	return nil
}

// String implements flag.Value.
func (p *patience) String() string {
	if p == nil || p.limit == 0 {
		return ""
	}
	return p.limit.String()
}

// waitGoal waits until look finds nothing in the way for as long as it takes
// to settle, and shows what is. It fails with exitTimeout.
func waitGoal(c *cli.Context, goal string, limit, settle time.Duration, look func(context.Context) []string) error {
	ctx, cancel := context.WithTimeout(c.Context, limit)
	defer cancel()
	p := newProgress(c.App.ErrWriter)
	defer p.end()
	settled := drain.Settle{After: settle}
	for {
		obstacles := look(ctx)
		switch {
		case ctx.Err() != nil: // what was found last stands
		case settled.Observe(len(obstacles) == 0, time.Now()):
			p.done(goal)
			return nil
		case len(obstacles) > 0:
			p.say(summary(obstacles))
		}
		select {
		case <-ctx.Done():
			if c.Context.Err() != nil {
				return c.Context.Err() // interrupted
			}
			return &exitError{exitTimeout, fmt.Errorf("not %s within %s: %s", goal, limit, p.last)}
		case <-time.After(idleEvery):
		}
	}
}

// summary puts the first few obstacles on one line.
func summary(obstacles []string) string {
	const most = 4
	line := ""
	for i, o := range obstacles {
		if i == most {
			return line + fmt.Sprintf("; and %d more", len(obstacles)-most)
		}
		if i > 0 {
			line += "; "
		}
		line += o
	}
	return line
}
