package rotation

import (
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// backWithin is how long after it was lost a server is expected back: a host
// that boots, or a Puppet Server that starts, takes minutes.
const backWithin = 15 * time.Minute

// LastServer returns the balancers that would have no server left without this
// master. One is enough to refuse: agents behind it would reach no server. An
// empty service stands for every service.
func LastServer(s api.Status, service string) (list []api.Obstacle) {
	for _, b := range onlyHere(s, service) {
		list = append(list, obstacle(api.ObstacleLast, b.Label(),
			"balancer %s has no other server for %s: it would have none left", b.Label(), b.Name))
	}
	return list
}

// Turn returns the balancers that had another server lately and have none now:
// that server is expected back. A balancer that never had another, as with a
// single master, is not waited for.
func Turn(s api.Status, service string) (list []api.Obstacle) {
	for _, b := range onlyHere(s, service) {
		gone := s.Time.Sub(b.Others)
		if gone >= backWithin {
			continue
		}
		o := obstacle(api.ObstacleTurn, b.Label(),
			"balancer %s has had no other server for %.0f s", b.Label(), gone.Seconds())
		o.Seconds = gone.Seconds()
		list = append(list, o)
	}
	return list
}

// onlyHere returns the balancers that give new sessions to this master alone.
func onlyHere(s api.Status, service string) (list []api.Balancer) {
	for _, b := range s.Balancers {
		if b.View == nil || !b.View.Last() || service != "" && b.Service != service {
			continue
		}
		if v, known := s.Service(b.Service); known && v.Mode != drain.Ready {
			continue // held already, as the balancer is about to learn
		}
		list = append(list, b)
	}
	return list
}
