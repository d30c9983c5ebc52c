package leave

import (
	"context"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// The balancers are the third witness. The daemon asks them, check by check, by balancer.Rule, as soon as there is a
// hold that is leaving.

// noteWithoutWitness says so if nothing protects the pool.
func (d *departure) noteWithoutWitness() {
	isPooled := len(d.hearing().Pool(d.seen.status.Time)) > 0
	asksFleet := d.world.asksFleet(d.seen.status, d.want.Hold.Service, d.want.Hold.Mode)
	if !isPooled && !asksFleet {
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
		list = append(list, fleet.Judge(others, w.MaxOut).Obstacles...)
	}
	return list
}
