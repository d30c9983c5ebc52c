package balancer

import (
	"cmp"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

// Rule decides which balancers may lose a master that is leaving. HAProxy works through its checks one
// after the other, and says in each which servers it uses at that moment. So of two masters that leave
// at once, the second to be checked sees that the first is out, and stays.
type Rule struct {
	// Leaving is what the hold waits for.
	Leaving drain.Leaving
	Mode    drain.Mode
	// Covers reports whether the hold concerns a service.
	Covers func(service string) bool
	// MaxOut is how many servers a balancer may miss, this master included.
	MaxOut config.MaxOut
	Now    time.Time
}

// Keeps reports whether balancer b keeps the master, and why: it is then answered by the verdict, as if
// there was no hold. The balancer must not hide the hold from itself. all are the balancers that still ask, b
// among them. A balancer without a view does not keep it.
//
// With the master still in, a balancer keeps it
//   - while it shows no other server;
//   - unless it may miss one more now and at the check before, no other balancer shows that it may not,
//     and each balancer before it, by node and name, has the master out.
//
// With the master out, it takes it back
//   - if it shows no other server: the pool heals by itself;
//   - if it misses too many with this one, while some other balancer still has this one in: two masters
//     that got half of their balancers each would wait for each other for ever.
//
// A master that leaves beside a spare asks for nothing but that other server.
func (r Rule) Keeps(b *Balancer, all []Balancer) (why Obstacle, keeps bool) {
	if r.Leaving == drain.Firm || b.View == nil {
		return Obstacle{}, false
	}
	if b.Spare() == 0 {
		return b.alone(r.Now), true
	}
	if r.Leaving == drain.LeavingBesideSpare {
		return Obstacle{}, false
	}
	if !b.View.Sends() {
		return r.takesBack(b, all)
	}
	if !b.fits(r.MaxOut, r.Now) {
		return b.full(r.Now), true
	}
	if !b.fitted {
		return NewObstacle(ObstacleTurn, b.Label(), "balancer %s has its other servers only since now", b.Label()), true
	}
	for i := range all {
		if o := &all[i]; r.concerns(o, b) {
			switch {
			case !o.fits(r.MaxOut, r.Now):
				return o.full(r.Now), true
			case o.View.Sends() && o.before(b):
				return NewObstacle(ObstacleOrder, o.Label(), "balancer %s comes first", o.Label()), true
			}
		}
	}
	return Obstacle{}, false
}

// takesBack is the rule for a balancer that has the master out.
func (r Rule) takesBack(b *Balancer, all []Balancer) (why Obstacle, keeps bool) {
	if b.fits(r.MaxOut, r.Now) {
		return Obstacle{}, false
	}
	in := func(o Balancer) bool { return r.concerns(&o, b) && o.View.Sends() }
	if !slices.ContainsFunc(all, in) {
		return Obstacle{}, false
	}
	return b.full(r.Now), true
}

// concerns reports whether what o says matters to b: it is another balancer with a view, has had another
// server, and is told of the hold.
func (r Rule) concerns(o, b *Balancer) bool {
	return o.View != nil && !o.same(b) && o.Pooled() && !o.Hides(r.Mode) && r.Covers(o.Service)
}

// Pooled reports whether the balancer has ever had another server. One that has not, such as a backend
// for the only CA, keeps a master until its hold is firm, and no other balancer waits for it.
func (b *Balancer) Pooled() bool { return !b.OthersSeen.IsZero() }

// Spare returns the weight of the other servers to which the balancer gives new sessions. What HAProxy
// says of servers that it has not checked yet, after its own start, is not believed.
func (b *Balancer) Spare() int {
	if b.View == nil || b.starts {
		return 0
	}
	return b.View.OthersWeight()
}

// fits reports whether the balancer misses no more servers than it may if this master is out.
func (b *Balancer) fits(most config.MaxOut, now time.Time) bool {
	if b.Spare() == 0 {
		return false
	}
	lost := 0
	if now.Sub(b.OthersSeen) < ExpectedBack {
		lost = max(0, b.OthersWeight-b.Spare())
	}
	// Half the weight of a server is none: one that returns gets its weight gradually, and others may
	// weigh less than this one.
	unit := max(1, b.UnitWeight)
	return 2*(lost+unit) < 2*most.Of(b.OthersWeight+unit, unit)+unit
}

// alone says that the balancer has no other server.
func (b *Balancer) alone(now time.Time) Obstacle {
	missing, since := b.Missing(now)
	if !missing {
		return NewObstacle(ObstacleLast, b.Label(), "balancer %s has no other server for %s", b.Label(), b.Name)
	}
	o := NewObstacle(ObstacleTurn, b.Label(), "balancer %s has had no other server for %s", b.Label(), text.Age(since))
	o.Seconds = since.Seconds()
	return o
}

// full says that the balancer cannot do without one more server.
func (b *Balancer) full(now time.Time) Obstacle {
	missing, since := b.Missing(now)
	if b.Spare() == 0 || !missing {
		return b.alone(now)
	}
	o := NewObstacle(ObstacleTurn, b.Label(), "balancer %s has been missing a server for %s", b.Label(), text.Age(since))
	o.Seconds = since.Seconds()
	return o
}

// before orders balancers, the same on each master: by node, then by name without the server's own.
func (b *Balancer) before(o *Balancer) bool {
	return cmp.Or(cmp.Compare(b.Node, o.Node), cmp.Compare(b.backend(), o.backend()), b.Source.Compare(o.Source)) < 0
}

// same reports whether two entries are of one balancer.
func (b *Balancer) same(o *Balancer) bool {
	return b.Node == o.Node && b.Name == o.Name && b.Source == o.Source && b.Service == o.Service
}
