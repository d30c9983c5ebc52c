package leave

import (
	"context"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// The third witness are the balancers. The daemon asks them, check by check, by balancer.Rule, as soon as there is a
// hold that is leaving.

// noteWithoutWitness says so if nothing protects the pool.
func (d *departure) noteWithoutWitness() {
	pool := d.hearing().Pool(d.seen.status.Time)
	asksFleet := d.world.asksFleet(d.seen.status, d.want.Hold.Service, d.want.Hold.Mode)
	if len(pool) == 0 && !asksFleet {
		d.world.Note("nothing tells whether the pool can do without this master: " +
			"no balancer shows another server, and neither budget nor fleet is set")
	}
}

// Keeps returns what would keep the master, or one service of it, from leaving now: what would be refused or
// waited for.
func (w World) Keeps(
	ctx context.Context, s status.Status, service drain.Service, mode drain.Mode,
) (list []status.Obstacle) {
	for _, v := range s.Services {
		if service.Covers(v.Name) {
			list = append(list, v.Keeps...)
		}
	}
	if s.Budget == nil && w.asksFleet(s, service, mode) {
		others, _ := w.Fleet(ctx)
		missing, _ := Misses(others, w.MaxOut)
		list = append(list, missing...)
	}
	return list
}
