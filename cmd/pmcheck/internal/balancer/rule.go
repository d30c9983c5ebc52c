package balancer

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/drain"
)

// Rule decides which balancers may lose a master that is leaving. HAProxy says in each check which servers it uses at
// that moment. So of two masters that leave at once, the second to be checked sees that the first is out, and stays.
// Two checks that are under way together cross: see TurnBackend. The zero Rule stands for a master that is not held.
type Rule struct {
	service drain.Service
	leaving drain.Leaving
	mode    drain.Mode
	serves  bool                             // the verdict does
	leaves  func(service drain.Service) bool // whether the hold concerns a service
	maxOut  answer.MaxOut                    // how many servers a balancer may miss, this master included
	now     time.Time
	unseen  bool // a balancer may ask that is not remembered
}

// NewRule returns the rule for the checks of a service at a moment. The answer must be made of the same moment: a hold
// that is lifted between two moments would be leaving in one only. leaves reports whether a hold on another service is
// leaving, and maxOut is how many servers a balancer may miss, this master included.
func NewRule(m answer.Moment, leaves func(service drain.Service) bool, maxOut answer.MaxOut) Rule {
	return Rule{
		service: m.Service,
		leaving: m.Leaving,
		mode:    m.Mode,
		serves:  m.Verdict.Health.Serves(),
		leaves:  leaves,
		maxOut:  maxOut,
		now:     m.Time,
	}
}

// Keeps returns, for each balancer of the service that keeps a master which is leaving, why it does. If the master is
// ready, it returns why they would keep it. With a budget, which counts the masters that are out, they would only ask
// for another server.
func (r Rule) Keeps(all List, budget bool) (list []blocker.Blocker) {
	trial := r.mode == drain.Ready
	if trial {
		r = r.asIfLeaving(budget)
	}

	for i := range all {
		b := &all[i]
		if b.Service != r.service {
			continue
		}
		why, keeps := r.keptBy(b, all)
		if !keeps {
			continue
		}
		// Without a hold every balancer has the master in, so all but the first would wait for another.
		if trial && why.Kind == blocker.Order {
			continue
		}
		why.Of = b.Label() // the reason may be another balancer
		list = append(list, why)
	}
	return list
}

// asIfLeaving returns the rule of a drain that begins now.
func (r Rule) asIfLeaving(budget bool) Rule {
	r.mode = drain.Drain
	r.leaves = func(drain.Service) bool { return true }
	r.leaving = drain.LeavingInTurn
	if budget {
		r.leaving = drain.LeavingBesideSpare
	}
	return r
}

// A Decision is how a check of a balancer is answered while a master is leaving.
type Decision int

// The decisions.
const (
	Follow   Decision = iota // by the hold
	Keep                     // by the verdict, as if there was no hold
	KeepOnce                 // by the verdict once more; from the next check on, it may follow
)

// decide decides how a check of balancer b is answered. all are the balancers that still ask, b among them.
func (r Rule) decide(b *Balancer, all List) Decision {
	if !r.hasSay(b) {
		return Follow
	}
	if _, keeps := r.keptBy(b, all); keeps {
		return Keep
	}

	// Checks of two servers drift until they run in step, and of two checks under way together neither shows what the
	// other is told.
	isFirst := b.View.Sends() && !b.letOff
	if isFirst {
		return KeepOnce
	}
	return Follow
}

// decideUnknown decides for a balancer of which nothing is remembered, by the view that it sends.
func (r Rule) decideUnknown(view string) Decision {
	keeps := r.leaving == drain.LeavingByView
	if view != "" { // otherwise it follows the hold, unless that is by view alone
		keeps = r.leaving != drain.Firm
	}
	if keeps {
		return Keep
	}
	return Follow
}

// keptBy reports whether balancer b keeps the master, and why: it is then answered by the verdict, as if
// there was no hold. all are the balancers that still ask, b among them.
func (r Rule) keptBy(b *Balancer, all List) (why blocker.Blocker, keeps bool) {
	if !r.hasSay(b) {
		return why, false
	}

	if b.Unreadable { // this master may be its last server
		return b.UnreadableView(), true
	}

	// All that is known is that the holds are not: agents stay where no view shows that they can go elsewhere.
	if !b.SendsView() {
		return b.needs(blocker.Needed, "sends no view, and the holds cannot be read"), true
	}

	if b.Spare() == 0 { // its agents would go nowhere; a pool whose other server has died heals by itself
		return b.without(r.now), true
	}
	if r.leaving == drain.LeavingBesideSpare {
		return why, false
	}

	if b.View.Sends() {
		return r.mustWait(b, all)
	}
	return r.takesBack(b, all)
}

// hasSay reports whether the balancer has a say. A balancer that sends no view follows the answers, unless the hold is
// by view alone, and so does a balancer that hides the hold from itself.
func (r Rule) hasSay(b *Balancer) bool {
	if r.leaving == drain.Firm || !r.concerns(b) {
		return false
	}
	return b.SendsView() || r.leaving == drain.LeavingByView
}

// concerns reports whether the hold makes a difference to a balancer.
func (r Rule) concerns(b *Balancer) bool { return !b.Hides(r.mode) && !r.isOutAnyway(b) }

// isOutAnyway reports whether a balancer has the master out because that does not serve: it loses nothing by the hold.
// In a backend that asks for the hold only, for when no master serves, the same master may be the last.
func (r Rule) isOutAnyway(b *Balancer) bool {
	asksForVerdict := !b.HidesVerdict()
	return !r.serves && asksForVerdict && b.View != nil && !b.View.Sends()
}

// mustWait reports whether balancer b, which has the master in, may not miss it yet: it must be able to do without this
// master now and at the check before, no other balancer may show that it cannot, and each balancer before it, by node
// and name, must have the master out.
func (r Rule) mustWait(b *Balancer, all List) (why blocker.Blocker, waits bool) {
	if r.unseen { // another may come first
		return TooMany(), true
	}
	if !r.canDoWithout(b) {
		return b.without(r.now), true
	}
	if !b.fitted {
		return b.needs(blocker.Needed, "has had enough other servers in one check only"), true
	}

	for o := range r.others(b, all) {
		if o.Unreadable {
			return o.UnreadableView(), true
		}
		if !r.canDoWithout(o) {
			return o.without(r.now), true
		}
		if o.Sends(r.now) && o.before(b) {
			return o.needs(blocker.Order, "comes first"), true
		}
	}
	return why, false
}

// takesBack reports whether balancer b, which has the master out, takes it back: out of order, or because it misses
// too many servers.
func (r Rule) takesBack(b *Balancer, all List) (why blocker.Blocker, takesBack bool) {
	// A balancer before this one has taken the master back, or has not let it go since the hold was set again. Another
	// master may leave that one meanwhile, and then wait for this one, for ever.
	for o := range r.others(b, all) {
		if o.Sends(r.now) && o.before(b) {
			return o.needs(blocker.Order, "comes first"), true
		}
	}

	if r.canDoWithout(b) {
		return why, false
	}

	// Two checks have crossed, and two masters have left. Later, while its last agents finish, a master does not
	// return because another master dies. A balancer that was not refused is taking the master back, and must go on being
	// told so until it is UP.
	if b.justOut || !b.Refused() {
		return b.without(r.now), true
	}
	return why, false
}

// canDoWithout reports whether a balancer can do without this master, by its own view. With a slot, the budget has
// counted the masters that are out, and another server is enough.
func (r Rule) canDoWithout(b *Balancer) bool {
	if r.leaving == drain.LeavingWithSlot {
		return b.Spare() > 0
	}
	return b.fits(r.maxOut, r.now)
}

// others returns the balancers whose views matter to balancer b.
func (r Rule) others(b *Balancer, all List) iter.Seq[*Balancer] {
	return func(yield func(*Balancer) bool) {
		for i := range all {
			o := &all[i]
			matters := o.key() != b.key() && r.matters(o)
			if matters && !yield(o) {
				return
			}
		}
	}
}

// matters reports whether what a balancer says matters to the others. A balancer of which this is the only server keeps
// the master until the hold is firm, so nothing waits for it.
func (r Rule) matters(o *Balancer) bool {
	concerned := o.SendsView() && r.leaves(o.Service) && r.concerns(o)
	// A master that is back in the pool before it is back in the backend of the turns could cross another master.
	if o.Turns() && o.Pooled() {
		return concerned
	}
	return concerned && !o.OnlyServer(r.now)
}

// Pooled reports whether the balancer has ever had another server.
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
func (b *Balancer) fits(maxOut answer.MaxOut, now time.Time) bool {
	missing, _ := b.Missing(now)
	return b.Spare() > 0 && missing < maxOut.Of(b.Others()+1)
}

// without says which server the balancer cannot do without: this one, or a server that is missing.
func (b *Balancer) without(now time.Time) blocker.Blocker {
	others := b.View.OthersWeight()
	isDoubted := b.Spare() == 0 && others > 0
	if isDoubted {
		return b.needs(blocker.Needed, "has just started, and may not have checked its other servers yet")
	}

	missing, since := b.Missing(now)
	if missing == 0 {
		return b.Alone()
	}
	if others == 0 {
		return b.needs(blocker.Needed, "has no other server than %s now, and has been missing one for %s",
			b.Server(), text.Age(since))
	}
	return b.needs(blocker.Needed, "has been missing a server for %s (the others weigh %d of %d)",
		text.Age(since), others, b.OthersWeight)
}

// needs returns the blocker that the balancer cannot do without this master yet.
func (b *Balancer) needs(kind blocker.Kind, format string, args ...any) blocker.Blocker {
	why := blocker.New(kind, "balancer %s %s", b.Label(), fmt.Sprintf(format, args...))
	why.Of = b.Label()
	return why
}

// TooMany says that a balancer may ask that is not remembered.
func TooMany() blocker.Blocker {
	return blocker.New(blocker.Unknown, "more balancers ask than are remembered: set balancers in pmcheck.yaml")
}

// UnreadableView says that it is not known which servers the balancer has.
func (b *Balancer) UnreadableView() blocker.Blocker {
	return b.needs(blocker.Unknown, "sends a view that cannot be read: are its names longer than %d characters?", maxText)
}

// Alone says that the balancer has no other server.
func (b *Balancer) Alone() blocker.Blocker {
	return b.needs(blocker.OnlyServer, "has no other server than %s", b.Server())
}

// before orders balancers, the same on each master: by node, then by the name of the backend.
func (b *Balancer) before(o *Balancer) bool {
	return cmp.Or(
		cmp.Compare(b.Node, o.Node),
		cmp.Compare(b.Backend(), o.Backend()),
		b.Source.Compare(o.Source),
	) < 0
}
