package rotation

import "github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"

// The guard drains a master that is the last server of one balancer if others send its agents
// elsewhere, since its service stops in any case. A command refuses instead.

// RefusedAtOnce says why a command must not drain the master, according to the last status: it
// is the last server of a balancer. With inTurn, it is only refused at once if that balancer
// never had another server, as that of the only CA: none is expected back, so the command need
// not wait for its turn. It returns "" if the command may go on.
func (d *Departure) RefusedAtOnce(inTurn bool) string {
	last := LastServer(d.before, d.Service)
	if inTurn {
		last = onlyServer(d.before, d.Service)
	}
	if len(last) == 0 {
		return ""
	}
	return last[0].Text
}

// Refused says why a command must not drain the master now that its way is clear or its time is
// over: it is not replaced, or is the last server of a balancer. It returns "" if the master
// may leave. left is what it has waited for in vain; empty if its way is clear.
func (d *Departure) Refused(left []api.Obstacle) string {
	switch {
	case d.Replaced():
		return d.RefusedAtOnce(false)
	case len(left) == 0:
		return d.Alone()
	}
	return "its turn has not come, and it is the last server: " + api.Summary(left)
}
