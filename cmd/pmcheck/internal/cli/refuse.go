package cli

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
)

// askTime is how long the daemon may take to answer before a hold. A hold must
// be possible without a daemon.
const askTime = 2 * time.Second

// refuseUnknown returns an error if a daemon says that it answers for no such
// service: the hold would have no effect.
func refuseUnknown(ctx context.Context, client api.Client, service string) error {
	if service == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	status, err := client.Status(ctx)
	if err != nil {
		return nil // without a daemon: it may be a service of the daemon to come
	}
	if _, err := status.ServiceOrError(service); err != nil {
		return noService(err)
	}
	return nil
}

// refuseIfLast returns an error if a balancer would have no server left. Without
// a daemon there is no balancer to object.
func refuseIfLast(ctx context.Context, client api.Client, service string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	status, err := client.Status(ctx)
	if err != nil {
		return nil
	}
	if last := rotation.LastServer(status, service); len(last) > 0 {
		return &exitError{exitRefused, &hinted{
			errors.New(last[0].Text),
			"bring another master up first, or insist with --force"}}
	}
	return nil
}

// waitForTurn waits until servers are back that balancers had lately, for as
// long as --wait allows. A caller that asks for this goes on in any case, so
// time that is over is no error.
func waitForTurn(c *cli.Context, client api.Client) error {
	_, limit := waitOf(c)
	f := &follower{client: client}
	_, err := waitGoal(c, "in turn", limit, 0, func(ctx context.Context) []api.Obstacle {
		ctx, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		status, err := f.next(ctx)
		if err != nil {
			return nil
		}
		return rotation.Turn(status, c.String("service"))
	})
	var exit *exitError
	if errors.As(err, &exit) && exit.status == exitTimeout {
		return nil
	}
	return err
}
