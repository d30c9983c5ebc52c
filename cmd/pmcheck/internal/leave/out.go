// Package leave takes a master out of its pool and returns it: Out and Back.
//
// Out is one loop. It looks at everything (Facts, in facts.go), lets Next decide what to do (next.go), and does it:
// wait, claim a slot, ask the fleet, write the hold, or end. Next is pure. What a command and the stop of a service
// differ in is a Policy, in policy.go. Next asks budget, fleet and balancers, in this order (slot.go,
// fleet.go), and judges what balancers and agents need in needs.go; how long each phase may take is in limits.go, and
// how long what is not known keeps a master in ends.go. What the daemon does about the slot meanwhile, and until the
// master is back, is KeepSlot.
//
// The daemon's answer to each check decides which balancer may lose the master, see balancer.Rule. Out writes the hold
// that the daemon acts on, and follows what comes of it.
package leave

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Request is the wish of a party that wants a master, or one service of it, out of its pool.
type Request struct {
	// Hold is the hold to set. A hold that its holder sets again keeps its reason and its end if Hold has none,
	// and an end at the next reboot.
	Hold drain.Hold
	// By is who asks, as the budget shows it. If it is empty, that is the holder.
	By string
	// For is how long the hold lasts from the moment that it is firm; 0 means until Hold.Until.
	For time.Duration
	// Wait is the limit of a command.
	Wait time.Duration
	// Idle says that the last agent must have finished, too.
	Idle bool
	// Now sets a firm hold at once.
	Now bool
	// Force claims a slot and sets a firm hold, and does not ask whether the pool can do without the master.
	Force bool

	// Stop is the guard of a service that stops or reloads in any case, and limits its way out.
	Stop *Guard
}

// Kind is the kind of an Error.
type Kind int

// The kinds. After Refused, Gone and Silent, no hold of this call is left, unless it could not be lifted. A stop is
// never refused. After NotIdle, the hold stays, and is leaving unless it was firm from the start or the service stops
// in any case.
const (
	Refused Kind = iota // the last server, or a slot or a turn that did not come
	NotIdle             // balancers were not told, or agents are left
	Silent              // the daemon does not answer, and runs or may start
	Gone                // another party has lifted or replaced the hold, or it has ended
)

// Error says why a master has not left as asked.
type Error struct {
	Kind Kind
	Text string
	Left []status.Blocker
}

// Error returns the text, and what was in the way.
func (e *Error) Error() string {
	if len(e.Left) == 0 {
		return e.Text
	}
	return e.Text + ": " + blocker.Summary(e.Left)
}

// A departure is one way out of the pool.
type departure struct {
	world  World
	want   Request
	policy Policy
	state  State
	seen   Facts // what was seen last
}

// Out takes the master out of its pool. It returns once every balancer has let go of the master and, if asked, the
// last agent has finished, and the hold is firm: the work of the caller may begin. It returns the hold, which is zero
// if none was set, or if it was lifted again.
//
// The error is an *Error, ErrCancelled, ErrDied, status.ErrNoService, or one of the holds, the budget or ctx. Any error
// before every balancer has let go lifts a hold that is leaving.
func Out(ctx context.Context, w World, r Request) (set drain.Hold, err error) {
	p := r.policy()
	d := &departure{world: w, want: r, policy: p, state: begin(p, time.Now())}
	err = d.out(ctx)
	if errors.Is(err, errGone) {
		return drain.Hold{}, &Error{Kind: Gone, Text: err.Error()}
	}
	if err != nil && !d.state.isOut() {
		err = errors.Join(d.retreat(), err)
	}
	return d.seen.Own, err
}

// out looks, decides, and does what was decided, until that is the end. Nothing else reads the status, writes a hold or
// pauses on the way out.
func (d *departure) out(ctx context.Context) error {
	for {
		facts := d.observe(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}

		var step Step
		d.state, step = Next(d.state, facts, d.policy)
		err := d.do(ctx, step)
		for _, line := range step.Notes {
			d.world.Note(line)
		}
		if err != nil || step.Ends || step.Do == End {
			return err
		}
	}
}

// do does a step. The error is that of the end of the way out, or of a hold that could not be changed.
func (d *departure) do(ctx context.Context, step Step) error {
	switch step.Do {
	case Claim:
		d.seen.Slot = &SlotAnswer{Refusal: d.world.Claim(ctx, d.newClaim(step.Force))}
	case Ask:
		others, place := d.world.Fleet(ctx)
		d.seen.Fleet = &FleetAnswer{Tally: fleet.Judge(others, d.world.MaxOut), Place: place}
	case Hold:
		return d.hold(step.Level)
	case Lift:
		return d.retreat()
	case End:
		return step.Err
	case Wait:
		if len(step.Blockers) > 0 {
			d.world.Say(blocker.Summary(step.Blockers))
		}
		length := d.world.Every
		if soon := time.Until(step.Until); soon > 0 {
			length = min(length, soon)
		}
		pause(ctx, length)
	}
	return nil
}

// newClaim returns what the budget is asked. A master of which nothing is known is taken for one in service.
func (d *departure) newClaim(force bool) budget.Claim {
	s := d.seen.Status
	mayServe := d.seen.Daemon != DaemonAnswers || s.InService() || !s.Master().Probed()
	return budget.Claim{
		Reason:    d.want.Hold.Reason,
		By:        cmp.Or(d.want.By, d.want.Hold.Holder),
		InService: mayServe,
		Force:     force,
	}
}

// Keeps returns what would keep the master, or one service of it, from leaving now: what would be refused or
// waited for.
func (w World) Keeps(
	ctx context.Context, s status.Status, service drain.Service, mode drain.Mode,
) (list []status.Blocker) {
	if hasLeft(s, service, mode) {
		asked := Request{Hold: drain.Hold{Service: service, Mode: mode}}
		d := decision{facts: Facts{Status: s}, policy: asked.policy()}
		return append(d.mustStay(), s.Unseen(status.HeardAll)...)
	}

	isAgent := func(o status.Blocker) bool { return o.Kind == blocker.Agent } // they finish afterwards
	for _, v := range s.Services {
		isOut := v.Departure.Out || isHeldFirmly(v)
		if service.Covers(v.Name) && !isOut {
			list = append(list, slices.DeleteFunc(slices.Clone(v.Departure.Blockers), isAgent)...)
		}
	}

	hasFleet := w.Fleet != nil && s.Budget == nil
	if asksFleet(hasFleet, s, service, mode) {
		others, _ := w.Fleet(ctx)
		list = append(list, fleet.Judge(others, w.MaxOut).Blockers...)
	}
	return list
}
