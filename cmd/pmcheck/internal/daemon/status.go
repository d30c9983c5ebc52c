package daemon

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// Status returns the status of the daemon at the time now, with the obstacles of each
// service.
func (d *Daemon) Status(now time.Time) status.Status {
	s := d.status(now)
	for i := range s.Services {
		v := &s.Services[i]
		v.Keeps = d.keeps(s, *v, now)
		var connections []tcp.Connection
		var unknown error
		if v.Name == monitor.Server && v.Mode != drain.Ready {
			connections, unknown = tcp.Connections(s.Probe.Address)
		}
		v.Obstacles = leave.Standing(s, *v, connections)
		if unknown != nil {
			v.Obstacles = append(v.Obstacles, status.Obstacle{Kind: balancer.ObstacleUnknown, Text: unknown.Error()})
		}
		if v.Mode == drain.Ready {
			v.Keeps = append(v.Keeps, leave.OverBudget(s, v.Name)...)
		}
	}
	return s
}

// keeps returns the balancers that keep a service that is leaving, or would keep one that is ready.
func (d *Daemon) keeps(s status.Status, v status.ServiceStatus, now time.Time) (list []status.Obstacle) {
	r := d.rule(d.monitor.State(), v.Name, now)
	if v.Mode == drain.Ready {
		r.Leaving, r.Mode = drain.LeavingInTurn, drain.Drain
		r.Covers = func(string) bool { return true }
		if s.Budget != nil {
			r.Leaving = drain.LeavingBesideSpare
		}
	}
	for i := range s.Balancers {
		b := &s.Balancers[i]
		if b.Service != v.Name || b.Hides(r.Mode) {
			continue
		}
		why, keeps := r.Keeps(b, s.Balancers)
		if keeps && !(v.Mode == drain.Ready && why.Kind == balancer.ObstacleOrder) && !slices.Contains(list, why) {
			list = append(list, why)
		}
	}
	return list
}

// status is like Status, without the obstacles, which need the kernel's connections.
func (d *Daemon) status(now time.Time) status.Status {
	revision, _ := d.changes.now()
	used := *d.config.Load()
	used.Restart = waitForRestart(d.start, *d.settings.Load())
	return status.Source{
		Version:   d.Version,
		Started:   d.started,
		Revision:  revision,
		Settings:  d.settings.Load(),
		Config:    used,
		State:     d.monitor.State(),
		Balancers: d.balancers.Current(now),
		Asked:     d.balancers.Asked(),
		Budget:    d.budget.Load(),
		Gate:      d.gate.Load(),
	}.Build(now)
}

// news notes a change of the status that the daemon itself acts on.
func (d *Daemon) news() {
	d.states.note()
	d.changes.note()
}

// changes counts changes, so that one can wait for the next. It is safe for concurrent use.
type changes struct {
	mu    sync.Mutex
	count uint64
	next  chan struct{} // closed with the next change
}

func newChanges() *changes { return &changes{next: make(chan struct{})} }

func (c *changes) note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	close(c.next)
	c.next = make(chan struct{})
}

// now returns the revision, and a channel that is closed with the next change.
func (c *changes) now() (revision uint64, next <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count, c.next
}

// wait returns once the revision differs from after, or ctx ends.
func (c *changes) wait(ctx context.Context, after uint64) {
	if revision, next := c.now(); revision == after {
		waitFor(ctx, next)
	}
}

// waitFor returns once it receives from a channel that is closed or ticks, or ctx ends.
func waitFor[T any](ctx context.Context, c <-chan T) {
	select {
	case <-c:
	case <-ctx.Done():
	}
}

func contains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}
