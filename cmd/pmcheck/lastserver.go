package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
	"github.com/pmcheck/pmcheck/drain"
)

// guardTime is how long the daemon may take to tell who else is there. A hold
// has to be possible without a daemon.
const guardTime = 2 * time.Second

// refuseIfLast returns an error if some balancer gives new sessions to nobody
// but this master. One is enough: agents behind it would find nobody.
func refuseIfLast(ctx context.Context, client agent.Client, service string) error {
	ctx, cancel := context.WithTimeout(ctx, guardTime)
	defer cancel()
	status, err := client.Status(ctx)
	if err != nil {
		return nil // nobody to ask, so nobody to object
	}
	for _, b := range status.Balancers {
		if b.View == nil || !b.View.Last() || service != "" && b.Service != service {
			continue
		}
		if s, known := status.Service(b.Service); known && s.Mode != drain.Ready {
			continue // out already, as the balancer is about to learn
		}
		return &exitError{exitRefused, &hinted{
			fmt.Errorf("balancer %s has no other server for %s: it would have none left", b.Label(), b.Name),
			"bring another master up first, or insist with --force"}}
	}
	return nil
}
