package balancer

import (
	"fmt"
	"time"
)

// TurnWarnings returns what is wrong with the backends in which masters take turns, in sentences. By the views of its
// own backend alone a pool cannot be certain: two masters whose checks are under way at the same moment both see the
// other, and leave. A backend without agents is a place where that harms no agent, if a master leaves it first. One
// such backend does for all services: a hold on the whole master leaves it before the backends of the others.
func (l List) TurnWarnings(now time.Time) (warnings []string) {
	for i := range l {
		b := &l[i]
		if b.View == nil || !b.Pooled() || b.Turns() {
			continue
		}
		turns := l.keep(func(t *Balancer) bool { return t.Turns() && b.sharesHAProxy(t) })
		if warning := b.turnWarning(turns, now); warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return warnings
}

// turnWarning returns what is wrong with the backends in which masters take turns for the agents of a balancer; "" if
// nothing is.
func (b *Balancer) turnWarning(turns List, now time.Time) string {
	if len(turns) == 0 {
		return fmt.Sprintf("balancer %s has no backend %s: two masters that leave in the same "+
			"moment can leave %s without a server for an interval", b.HAProxy(), TurnBackend, b.Backend())
	}
	if b.Backend() < TurnBackend {
		return fmt.Sprintf("balancer %s: the name of backend %s sorts before %s, so turns are "+
			"taken in it, with its agents: rename it", b.HAProxy(), b.Backend(), TurnBackend)
	}
	// A balancer that hides the verdict has unhealthy servers, too.
	comparable := turns[0].comparable(now) && b.comparable(now) && !b.HidesVerdict()
	if comparable && turns[0].Others() != b.Others() {
		return fmt.Sprintf("balancer %s: backend %s has %d servers, but %s has %d",
			b.HAProxy(), TurnBackend, turns[0].Others()+1, b.Backend(), b.Others()+1)
	}
	return ""
}

func (b *Balancer) sharesHAProxy(o *Balancer) bool { return b.Node == o.Node && b.Source == o.Source }
