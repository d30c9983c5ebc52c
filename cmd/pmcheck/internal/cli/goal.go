package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/drain"
)

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
