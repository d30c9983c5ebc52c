package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

// effectTime is how long a toggle waits for the daemon to act on it. The
// daemon needs milliseconds; without a file watch, about a second.
const effectTime = 3 * time.Second

// reportToggle says what a toggle has changed in effect, and waits for the
// goal if asked to.
func reportToggle(c *cli.Context, settings config.Config, t render.Toggle, goal string, look goalLook) error {
	now := time.Now()
	t.Service = cmp.Or(c.String("service"), monitor.Server)
	holds := settings.Store().Read()
	t.Mode, _ = holds.Mode(t.Service, now)
	for _, h := range holds.At(now).Holds() {
		if h.Covers(t.Service) && (t.Set == nil || h != *t.Set) {
			t.Remaining = append(t.Remaining, h)
		}
	}
	client := api.Client{Socket: settings.Socket}
	since, err := waitForEffect(c.Context, client, &t)
	if err != nil {
		t.Error = err.Error()
	}
	if !c.Bool("json") {
		t.Write(c.App.Writer, since)
	}
	var missed error
	wanted, limit := waitOf(c)
	switch {
	case wanted && errors.Is(err, api.ErrNoService):
		missed = noService(err)
	case wanted:
		now := look(client, settings.Probe.Address, c.String("service"), since)
		t.Obstacles, missed = waitUntilClear(c, goal, limit, rotation.Settle, now)
		reached := missed == nil
		t.Reached = &reached
	}
	if c.Bool("json") {
		return errors.Join(printJSON(c.App.Writer, t), missed)
	}
	return missed
}

// waitForEffect waits until the daemon answers in the mode of the files.
func waitForEffect(ctx context.Context, client api.Client, t *render.Toggle) (since time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	f := &follower{client: client}
	mode := drain.Mode("unknown")
	for {
		status, err := f.next(ctx)
		if ctx.Err() != nil {
			return time.Time{}, fmt.Errorf("the daemon is still in mode %s after %s", mode, effectTime)
		}
		if err != nil {
			return time.Time{}, err
		}
		service, err := status.ServiceOrError(t.Service)
		if err != nil {
			return time.Time{}, err
		}
		if mode = service.Mode; mode == t.Mode {
			t.InEffect, t.Answer, t.Told = true, &service.Answer, rotation.Told(status, t.Service)
			return status.Time, nil
		}
	}
}

// noService adds what a caller can do about a service that the daemon does not answer for.
func noService(err error) error {
	return &exitError{exitUsage, err, "set services in the configuration, then systemctl reload pmcheck"}
}
