package cli

import (
	"cmp"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
)

// reportToggle prints what a toggle has changed and whether it is in effect. With --wait
// it waits for the goal.
func reportToggle(c *cli.Context, settings config.Config, t render.Toggle, goal string, look wait.Goal) error {
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
	status, err := wait.Effect(c.Context, client, t.Service, t.Mode)
	if err != nil {
		t.Error, status.Time = err.Error(), now // what balancers were told before does not count
	} else if s, known := status.Service(t.Service); known {
		t.InEffect, t.Answer, t.Told = true, &s.Answer, rotation.Told(status, t.Service)
	}
	if !c.Bool("json") {
		t.Write(c.App.Writer, status.Time)
	}
	var missed error
	wanted, limit := waitOf(c)
	switch {
	case wanted && errors.Is(err, api.ErrNoService):
		missed = noService(err)
	case wanted:
		now := look(client, settings.Probe.Address, c.String("service"), status.Time)
		t.Obstacles, missed = waitUntilClear(c, goal, limit, rotation.Settle, now)
		reached := missed == nil
		t.Reached = &reached
	}
	if c.Bool("json") && !(errors.Is(missed, errCollision) && c.Bool("in-turn")) { // the caller tries again
		return errors.Join(text.WriteJSON(c.App.Writer, t), missed)
	}
	return missed
}

// noService adds an exit status and a hint to the error for an unknown service.
func noService(err error) error {
	return &exitError{exitUsage, err, "set services in the configuration, then systemctl reload pmcheck"}
}
