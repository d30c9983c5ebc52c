package cli

import (
	"context"
	"errors"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// retryEvery is the pause before a daemon that did not answer is asked again.
	retryEvery = 250 * time.Millisecond
	// daemonPause is how long a restart of the daemon may take.
	daemonPause = 5 * time.Second
)

// follower reads the status of a daemon: at once the first time, then with each
// change.
type follower struct {
	client   api.Client
	revision uint64
	asked    bool      // the last time, with success
	failed   bool      // the last time
	lost     time.Time // since when no daemon answers; zero while one does
}

// next blocks until there is news, api.HeldFor at the longest.
func (f *follower) next(ctx context.Context) (s api.Status, err error) {
	if f.failed {
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(retryEvery):
		}
	}
	if f.asked {
		s, err = f.client.Next(ctx, f.revision)
	} else {
		s, err = f.client.Status(ctx)
	}
	f.failed, f.asked, f.revision = err != nil, err == nil, s.Revision
	switch {
	case err == nil:
		f.lost = time.Time{}
	case noDaemon(err) && f.lost.IsZero():
		f.lost = time.Now()
	}
	return s, err
}

// goalLook makes the look at a goal since a toggle took effect. An empty service
// stands for every service.
type goalLook func(client api.Client, master, service string, since time.Time) look

// drained looks at what keeps a service from being idle. Without a daemon, which
// balancers take for a master that is out, only the connections can be seen.
func drained(client api.Client, master, service string, since time.Time) look {
	f := &follower{client: client}
	return func(ctx context.Context) []api.Obstacle {
		status, err := f.next(ctx)
		switch {
		case err == nil:
			master = status.Probe.Address // the daemon has read puppet.conf
		case !noDaemon(err) || time.Since(f.lost) < daemonPause:
			return unknown(err)
		}
		connections, unseen := drain.ConnectionsTo(master)
		if unseen != nil {
			return unknown(unseen)
		}
		if err != nil {
			return rotation.Unattended(connections)
		}
		var list []api.Obstacle
		for _, v := range status.Services {
			if service == "" || v.Name == service {
				list = append(list, rotation.Leaving(status, v.Name, connections, since)...)
			}
		}
		return list
	}
}

// inService looks at what keeps a service from being used again. Of every
// service, only the master itself has to be well.
func inService(client api.Client, _, service string, since time.Time) look {
	f := &follower{client: client}
	return func(ctx context.Context) []api.Obstacle {
		status, err := f.next(ctx)
		if err != nil {
			return unknown(err)
		}
		var list []api.Obstacle
		for _, v := range status.Services {
			if service != "" && v.Name != service {
				continue
			}
			for _, o := range rotation.Returning(status, v.Name, since) {
				ill := o.Kind == api.ObstacleAnswer || o.Kind == api.ObstacleHeld
				if service != "" || v.Name == monitor.Server || !ill {
					list = append(list, o)
				}
			}
		}
		return list
	}
}

func unknown(err error) []api.Obstacle {
	return []api.Obstacle{{Kind: api.ObstacleUnknown, Text: err.Error()}}
}

// noDaemon reports whether a command failed because no daemon answers.
func noDaemon(err error) bool { return errors.Is(err, api.ErrNoDaemon) }
