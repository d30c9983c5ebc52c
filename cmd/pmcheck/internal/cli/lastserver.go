package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// guardTime is how long the daemon may take to tell who else is there. A hold
	// has to be possible without a daemon.
	guardTime = 2 * time.Second
	// backWithin is how long after it was lost a server is expected back: a host
	// that boots, or a Puppet Server that starts, takes minutes.
	backWithin = 15 * time.Minute
)

// lastFor returns the balancers that give new sessions to nobody but this
// master. One is enough to be careful: agents behind it would find nobody.
func lastFor(status agent.Status, service string) []agent.Balancer {
	var list []agent.Balancer
	for _, b := range status.Balancers {
		if b.View == nil || !b.View.Last() || service != "" && b.Service != service {
			continue
		}
		if s, known := status.Service(b.Service); known && s.Mode != drain.Ready {
			continue // out already, as the balancer is about to learn
		}
		list = append(list, b)
	}
	return list
}

// refuseUnknown returns an error if a daemon says that it answers for no such
// service: nothing would come of the hold.
func refuseUnknown(ctx context.Context, client agent.Client, service string) error {
	if service == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, guardTime)
	defer cancel()
	status, err := client.Status(ctx)
	if err != nil {
		return nil // nobody to ask: it may be a service of the daemon to come
	}
	if _, err := status.MustService(service); err != nil {
		return noService(err)
	}
	return nil
}

// refuseIfLast returns an error if some balancer would have no server left.
func refuseIfLast(ctx context.Context, client agent.Client, service string) error {
	ctx, cancel := context.WithTimeout(ctx, guardTime)
	defer cancel()
	status, err := client.Status(ctx)
	if err != nil {
		return nil // nobody to ask, so nobody to object
	}
	if last := lastFor(status, service); len(last) > 0 {
		b := last[0]
		return &exitError{exitRefused, &hinted{
			fmt.Errorf("balancer %s has no other server for %s: it would have none left", b.Label(), b.Name),
			"bring another master up first, or insist with --force"}}
	}
	return nil
}

// awaitTurn waits until other servers are back that balancers had lately, for
// as long as --wait allows. That they are not is no error: whoever asks for this
// goes on in any case.
func awaitTurn(c *cli.Context, client agent.Client) error {
	limit := c.Generic("wait").(*patience).limit
	err := waitGoal(c, "in turn", limit, 0, func(ctx context.Context) []string {
		ctx, cancel := context.WithTimeout(ctx, guardTime)
		defer cancel()
		status, err := client.Status(ctx)
		if err != nil {
			return nil
		}
		return comingBack(status, c.String("service"), time.Now())
	})
	var exit *exitError
	if errors.As(err, &exit) && exit.status == exitTimeout {
		return nil
	}
	return err
}

// comingBack names the balancers that had another server lately and have none
// now. One that never had any, as with a single master, is not waited for.
func comingBack(status agent.Status, service string, now time.Time) []string {
	var list []string
	for _, b := range lastFor(status, service) {
		if gone := now.Sub(b.Others); gone < backWithin {
			list = append(list, fmt.Sprintf("balancer %s has had no other server for %.0f s", b.Label(), gone.Seconds()))
		}
	}
	return list
}
