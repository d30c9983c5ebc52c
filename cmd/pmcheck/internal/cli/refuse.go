package cli

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
)

// refuse returns an error if a daemon says that it answers for no such service,
// so that the hold would have no effect, or that a balancer would have no server
// left. Without a daemon, the service may be one of the daemon to come, and no
// balancer sends agents. What it has seen goes to d, unless --force says that it does
// not matter.
func refuse(c *cli.Context, client api.Client, d *rotation.Departure) error {
	status, err := client.Ask(c.Context)
	if err != nil {
		return nil
	}
	service := c.String("service")
	if _, err := status.ServiceOrError(service); service != "" && err != nil {
		return noService(err)
	}
	if c.Bool("force") {
		return nil
	}
	d.Saw(status)
	if why := d.RefusedAtOnce(c.Bool("in-turn")); why != "" {
		return lastServer(d, why)
	}
	return nil
}

func lastServer(d *rotation.Departure, why string) error {
	hint := "bring another master up first, or insist with --force"
	if d.ServerMayLeave() {
		hint = "for catalogs only: --service server; for all services: --force"
	}
	return &exitError{exitRefused, errors.New(why), hint}
}

// waitForTurn waits until a master may leave: in its turn, for as long as --wait says, and then in
// the overtime of stop; in both it claims the slot. It reports whether that was in time, and refuses the last server.
func waitForTurn(c *cli.Context, d *rotation.Departure, stop *rotation.Stop, slot *wait.Slot,
	look wait.Look) (bool, error) {
	_, limit := waitOf(c)
	limits := config.Guard{Turn: limit}
	within := func(look wait.Look) func() ([]api.Obstacle, bool, error) {
		return func() ([]api.Obstacle, bool, error) {
			left, err := waitUntilClear(c, "in turn", time.Until(stop.Deadline(limits)), 0, look)
			return left, err == nil, c.Context.Err() // time that is over is no error, but an interrupt is one
		}
	}
	left, inTime, err := wait.InTurn(d, stop, within(slot.After(look)), within(slot.Late(look, stop, limits)))
	if why := d.Refused(left); err == nil && !c.Bool("force") && why != "" {
		return false, lastServer(d, why)
	}
	if !inTime && c.Bool("force") {
		*d = rotation.Departure{} // what it has seen does not matter
	}
	return inTime, err
}

// errCollision says that a hold must not stay.
var errCollision = errors.New("another server has left at the same time")
