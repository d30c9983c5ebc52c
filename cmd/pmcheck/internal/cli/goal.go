package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/drain"
)

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

// look returns what is in the way now. The first look is at once; each later one
// blocks until there may be news.
type look func(ctx context.Context) []api.Obstacle

// waitGoal waits until look finds the way clear for settle, and shows what it
// finds. After limit it returns the last obstacles and fails with exitTimeout.
func waitGoal(c *cli.Context, goal string, limit, settle time.Duration, look look) ([]api.Obstacle, error) {
	ctx, cancel := context.WithTimeout(c.Context, limit)
	defer cancel()
	p := render.NewProgress(c.App.ErrWriter)
	defer p.End()
	settled := drain.Settle{After: settle}
	var last []api.Obstacle
	for {
		obstacles := look(ctx)
		if ctx.Err() != nil {
			break // what was found last stands
		}
		last = obstacles
		if settled.Observe(len(obstacles) == 0, time.Now()) {
			p.Done(goal)
			return nil, nil
		}
		if len(obstacles) > 0 {
			p.Say(summary(obstacles))
		}
	}
	if c.Context.Err() != nil {
		return last, c.Context.Err() // interrupted
	}
	return last, &exitError{exitTimeout, fmt.Errorf("not %s within %s: %s", goal, limit, p.Last)}
}

// summary puts the first few obstacles on one line.
func summary(obstacles []api.Obstacle) string {
	const most = 4
	texts := api.Texts(obstacles)
	if n := len(texts); n > most {
		texts = append(texts[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(texts, "; ")
}
