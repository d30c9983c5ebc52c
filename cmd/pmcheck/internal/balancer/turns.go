package balancer

import (
	"fmt"
	"net/http"
)

// TurnWarnings returns what is wrong with the backends in which masters take turns, in sentences. By the views of its
// own backend alone a pool cannot be certain: two masters whose checks are under way at the same moment both see the
// other, and leave. A backend without agents is a place where that harms no agent, if a master leaves it first. One
// does for all services: a hold on the whole master leaves it before the backends of the others.
func (l List) TurnWarnings() (warnings []string) {
	for i := range l {
		b := &l[i]
		if b.View == nil || !b.Pooled() {
			continue
		}
		turn := l.keep(func(t *Balancer) bool { return t.Turns() && b.sharesHAProxy(t) })
		switch {
		case b.Turns():
		case len(turn) == 0:
			warnings = append(warnings, fmt.Sprintf("balancer %s has no backend %s: two masters that leave in the same "+
				"moment can leave %s without a server for an interval", b.Label(), TurnBackend, b.Backend()))
		case b.Backend() < TurnBackend:
			warnings = append(warnings, fmt.Sprintf("balancer %s: the name of backend %s sorts before %s, so turns are "+
				"taken in it, with its agents: rename it", b.Label(), b.Backend(), TurnBackend))
		case turn[0].Others() != b.Others() && !b.hidesVerdict(): // that one has unhealthy servers, too
			warnings = append(warnings, fmt.Sprintf("balancer %s: backend %s has %d servers, but %s has %d",
				b.Label(), TurnBackend, turn[0].Others()+1, b.Backend(), b.Others()+1))
		}
	}
	return warnings
}

func (b *Balancer) hidesVerdict() bool { return b.Codes.Filled().Unhealthy < http.StatusBadRequest }

func (b *Balancer) sharesHAProxy(o *Balancer) bool { return b.Node == o.Node && b.Source == o.Source }
