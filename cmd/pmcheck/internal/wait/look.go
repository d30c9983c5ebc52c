// Package wait observes how far a master has come on its way out of the pool or
// back: it follows the daemon's status and lets rotation judge it. It prints
// nothing and decides nothing.
package wait

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

const (
	// effectTime is how long the daemon may take to act on a hold. It needs
	// milliseconds; without a file watch, about a second; if the kernel loses a change, 5 s.
	effectTime = 7 * time.Second
	// daemonPause is how long a restart of the daemon may take.
	daemonPause = 5 * time.Second
)

// Effect blocks until the daemon reports mode m, which the files already have, for a
// service, and returns the status that says so.
func Effect(ctx context.Context, c api.Client, service string, m drain.Mode) (api.Status, error) {
	limited, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	f := &api.Follower{Client: c}
	var last api.Status
	for {
		status, err := f.Next(limited)
		switch {
		case ctx.Err() != nil:
			return api.Status{}, errors.New("interrupted before the daemon reported it")
		case limited.Err() != nil:
			return api.Status{}, late(last, service)
		case err != nil:
			return api.Status{}, err
		}
		s, err := status.ServiceOrError(service)
		if err != nil {
			return api.Status{}, err
		}
		if last = status; s.Mode == m {
			return status, nil
		}
	}
}

// late returns the error for a daemon that does not act on a hold, with the holds that it sees.
func late(last api.Status, service string) error {
	s, known := last.Service(service)
	if !known {
		return fmt.Errorf("the daemon has not answered for %s", effectTime)
	}
	by := ""
	if holders := last.Holders(s); len(holders) > 0 {
		by = ", held by " + strings.Join(holders, ", ")
	}
	return fmt.Errorf("the daemon is still in mode %s after %s%s; see pmcheck status", s.Mode, effectTime, by)
}

// Look returns what is in the way now. The first call returns at once; each later one
// blocks until there may be news.
type Look func(ctx context.Context) []api.Obstacle

// Goal returns the Look at what keeps a service from a goal. since is when a hold took
// effect or was lifted. An empty service stands for every service; master is the address of
// Puppet Server, as far as the caller knows it.
type Goal func(client api.Client, master, service string, since time.Time) Look

// An absence is that of a daemon that does not answer; the zero absence has not begun.
type absence struct{ since time.Time }

// lasts notes that the daemon does not answer, and reports whether a restart of it would be
// over by now.
func (a *absence) lasts() bool {
	if a.since.IsZero() {
		a.since = time.Now()
	}
	return time.Since(a.since) >= daemonPause
}

// DrainedInTurn is the Goal of a service that is idle, on a master that has left in its
// turn. If another one has left with it, the collision is all that the Look returns.
// Without a daemon only the connections can be seen; balancers take a master without a
// daemon out.
func DrainedInTurn(d *rotation.Departure) Goal {
	return func(client api.Client, master, service string, since time.Time) Look {
		d.Left(since)
		return drained(client, master, service, since, d)
	}
}

func drained(client api.Client, master, service string, since time.Time, d *rotation.Departure) Look {
	f := &api.Follower{Client: client}
	var last api.Status
	var lost absence
	return func(ctx context.Context) []api.Obstacle {
		status, err := f.Next(ctx)
		switch {
		case err == nil:
			last, lost, master = status, absence{}, status.Probe.Address // the daemon has read puppet.conf
		case !errors.Is(err, api.ErrNoDaemon) || !lost.lasts():
			return unknown(err)
		}
		if collision := d.Collision(status); len(collision) > 0 {
			return collision
		}
		connections, unseen := tcp.Connections(master)
		if unseen != nil {
			return unknown(unseen)
		}
		if err != nil {
			return rotation.Unattended(last, service, connections, time.Since(lost.since))
		}
		list := d.Unsettled(status)
		for _, v := range status.Services {
			if service == "" || v.Name == service {
				list = append(list, rotation.Leaving(status, v.Name, connections, since)...)
			}
		}
		return list
	}
}

// InService is the Goal of a service that is in use again.
func InService(client api.Client, _, service string, since time.Time) Look {
	f := &api.Follower{Client: client}
	return func(ctx context.Context) []api.Obstacle {
		status, err := f.Next(ctx)
		if err != nil {
			return unknown(err)
		}
		return rotation.InService(status, service, since)
	}
}

func unknown(err error) []api.Obstacle {
	return []api.Obstacle{{Kind: api.ObstacleUnknown, Text: err.Error()}}
}
