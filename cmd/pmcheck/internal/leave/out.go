// Package leave takes a master out of its pool and returns it: Out and Back. The steps of the way out are in out.go:
// admitted, its turn, held, let go, idle, firm. Whether a party leaves if the pool needs it is in party.go, and the
// witnesses are in slot.go, fleet.go and views.go: the budget, the other masters, and the balancers, which the daemon
// asks.
//
// The daemon's answer to each check decides which balancer may lose the master, see balancer.Rule. Out writes the hold
// that the daemon acts on, and follows what comes of it.
//
// What is in the way, as far as a Status shows it, is in status/standing.go.
package leave

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/obstacle"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Request is the wish of a party that wants a master, or one service of it, out of its pool.
type Request struct {
	// Hold is the hold to set. A hold that its holder sets again keeps its reason and its end if Hold has none,
	// and an end at the next reboot.
	Hold drain.Hold
	// For is how long the hold lasts from the moment that it is firm; 0 means until Hold.Until.
	For time.Duration
	// New says that the holder must not hold yet: a hold of the same name is another party's.
	New bool

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

// The kinds. After Refused and Silent, no hold of this call is left, unless it could not be lifted. A stop is refused
// only if its hold is gone. After NotIdle, the hold stays, and is leaving unless it was firm
// from the start or the service stops in any case.
const (
	Refused Kind = iota // the last server, or a slot or a turn that did not come
	NotIdle             // balancers were not told, or agents are left
	Taken               // another party holds under the same name
	Silent              // the daemon does not answer, and runs or may start
)

// Error says why a master has not left as asked.
type Error struct {
	Kind Kind
	Text string
	Left []status.Obstacle
}

// Error returns the text, and what was in the way.
func (e *Error) Error() string {
	if len(e.Left) == 0 {
		return e.Text
	}
	return e.Text + ": " + obstacle.Summary(e.Left)
}

// A departure is one way out of the pool.
type departure struct {
	world    World
	want     Request
	party    party
	patience *patience
	seen     daemon     // the daemon, as it was seen last
	others   fleet.View // the other masters of the fleet, as they were seen last

	set   drain.Hold // zero while no hold is set
	setAt time.Time  // when the hold was written first

	told bool // every balancer has let go of the master, or is not waited for: --now, or a stop whose turn is over
}

// Out takes the master out of its pool. It returns once every balancer has let go of the master and, if asked, the
// last agent has finished, and the hold is firm: the work of the caller may begin. It returns the hold, which is zero
// if none was set, or if it was lifted again. The error is an *Error, of the holds, ErrCancelled or ErrDied.
//
// If ctx ends before every balancer has let go, a hold that is leaving is lifted, and the error is the error of ctx.
func Out(ctx context.Context, w World, r Request) (set drain.Hold, err error) {
	d := &departure{world: w, want: r, patience: newPatience(time.Now())}
	d.seen = daemon{world: w, onStatus: d.patience.noteViews}
	d.party = newParty(d)

	err = d.out(ctx)
	if errors.Is(err, errGone) {
		return drain.Hold{}, &Error{Kind: Refused, Text: err.Error()}
	}
	if err != nil && !d.told {
		err = errors.Join(d.retreat(), err)
	}
	return d.set, err
}

// out is the way: admitted, its turn, held, let go, idle, firm.
func (d *departure) out(ctx context.Context) error {
	if err := d.admitted(ctx); err != nil {
		return err
	}

	leaving, err := d.turn(ctx)
	if err != nil {
		return err
	}

	if err := d.hold(leaving); err != nil {
		return err
	}

	// --now waits for no balancer, and without a daemon none hears of the hold. That hold is firm already, unless the
	// daemon went away while the master waited for its turn.
	unheard := d.want.Now || d.seen.absent()
	if unheard && !d.want.Idle {
		return d.hold(drain.Firm)
	}
	if !d.want.Now {
		if err := d.letGo(ctx); err != nil {
			return err
		}
	}
	d.told = true
	d.patience.toldAt = time.Now()

	late := d.idle(ctx)
	if late != nil && !d.staysOut(late) {
		return late
	}

	return errors.Join(late, d.firm(ctx))
}

// staysOut reports whether the master stays out after an error: a stop goes on although agents are left.
func (d *departure) staysOut(err error) bool {
	late, is := errors.AsType[*Error](err)
	return is && late.Kind == NotIdle && d.party.insists()
}

// admitted waits until the daemon knows its balancers. It returns an error if the pool cannot do without the master, or
// if that cannot be known. A request that waits for nothing looks once.
func (d *departure) admitted(ctx context.Context) error {
	_, err := d.wait(ctx, phaseStart, 0, d.lookAtStart)
	return err
}

// lookAtStart returns why the daemon does not know its balancers.
func (d *departure) lookAtStart(ctx context.Context) ([]status.Obstacle, error) {
	unanswered := d.seen.next(ctx)

	// A silent daemon may be telling balancers to use this master, whatever the hold says.
	if d.seen.silent() && !d.party.insists() {
		return nil, &Error{Kind: Silent, Text: "the daemon runs, and does not answer", Left: unanswered}
	}
	if d.want.Now || d.seen.silent() || d.seen.absent() {
		return nil, nil
	}
	if unanswered != nil {
		return unanswered, nil
	}

	service := d.want.Hold.Service
	if _, err := d.seen.status.Service(service); service != drain.EveryService && err != nil {
		return nil, err
	}

	if d.want.Force {
		return nil, nil
	}
	return d.seen.status.Unseen(d.party.mustListen()), nil
}

// turn asks the budget or, if none counts, the other masters. It blocks until they can do without this one, and returns
// how patient the hold must be: the balancers, the third witness, are asked by the daemon, check by check.
func (d *departure) turn(ctx context.Context) (drain.Leaving, error) {
	if d.waitsForNobody() {
		return drain.Firm, nil
	}

	counted, err := d.claimSlot(ctx)
	if err != nil {
		return drain.Firm, err
	}
	if d.want.Force {
		return drain.Firm, nil
	}
	if counted {
		return drain.LeavingWithSlot, nil
	}

	if err := d.askFleet(ctx); err != nil {
		return drain.Firm, err
	}
	d.noteWithoutWitness()
	return drain.LeavingInTurn, nil
}

// waitsForNobody reports whether no balancer and no other master has to agree.
func (d *departure) waitsForNobody() bool {
	// Without a daemon, no balancer hears of the hold.
	if d.want.Now || d.seen.absent() {
		return true
	}

	v, err := d.seen.status.Service(d.want.Hold.Service.Shown())
	if err != nil {
		return false // nothing is known of it
	}

	if isOut(v) {
		return true
	}

	// Balancers do not use a master that does not serve, but for those that ask for the hold alone.
	usesIt := slices.ContainsFunc(d.hearing(), func(b status.Balancer) bool { return b.HidesVerdict() })
	return !v.Verdict.Health.Serves() && !usesIt
}

// isOut reports whether a service has a firm hold: no balancer keeps it.
func isOut(v status.ServiceStatus) bool { return v.Mode != drain.Ready && v.Leaving == drain.Firm }

// letGo waits until every balancer has let go of the master. A stop whose turn is over leaves wherever there is another
// server, while it waits for its agents.
func (d *departure) letGo(ctx context.Context) error {
	d.nameOthers()
	left, err := d.wait(ctx, phaseTold, 0, d.look)
	if err != nil || left == nil {
		return err
	}

	return d.hold(drain.LeavingBesideSpare) // only a stop comes here
}

// nameOthers names the balancers that are not waited for: balancers that the configuration does not list, balancers
// that have this master alone, and clients that look like balancers and are refused an answer, so that they cannot
// hear of the hold.
func (d *departure) nameOthers() {
	all := d.hearing()
	for _, b := range d.seen.status.Unlisted {
		d.world.Note(fmt.Sprintf("does not wait for balancer %s at %s, which balancers in pmcheck.yaml does not list",
			b.Label(), b.Source))
	}
	for _, b := range all.Without(d.party.waitsFor(all)) {
		d.world.Note(fmt.Sprintf("does not wait for balancer %s, which has no other server than %s", b.Label(), b.Server()))
	}
	for _, r := range d.seen.status.Refused.Asking(d.seen.status.Time) {
		d.world.Note("does not wait for what looks like a balancer: " + r.String())
	}
}

// idle waits, if asked, until the last agent has finished.
func (d *departure) idle(ctx context.Context) error {
	if !d.want.Idle || !d.party.expectsAgents() {
		return nil
	}
	_, err := d.wait(ctx, phaseIdle, status.ClearFor, d.look)
	return err
}

// firm makes the hold firm: the work of the caller may begin. A balancer that has kept the master until now gets some
// time to let go, so that a backup takes over before the port closes.
func (d *departure) firm(ctx context.Context) error {
	if err := d.hold(drain.Firm); err != nil {
		return err
	}
	if !d.want.Idle {
		return nil
	}

	d.patience.firmAt = time.Now()
	_, err := d.wait(ctx, phaseLast, 0, d.lookAtLast)
	return err
}

// lookAtLast returns the balancers that have not let go although the hold is firm.
func (d *departure) lookAtLast(ctx context.Context) (list []status.Obstacle, err error) {
	unanswered := d.seen.next(ctx)
	if d.seen.absent() || d.seen.silent() {
		return nil, nil
	}
	if unanswered != nil {
		return unanswered, nil
	}

	awaited := d.seen.status
	awaited.Balancers = d.hearing().WithAgents()
	for _, v := range awaited.Services {
		list = append(list, awaited.Behind(v)...)
	}
	return list, nil
}

// hearing returns the balancers that hear of the hold.
func (d *departure) hearing() balancer.List {
	h := d.want.Hold
	return d.seen.status.Balancers.Hearing(h.Service, h.Mode)
}

// lone returns the balancers that hear of the hold and have this master alone.
func (d *departure) lone() balancer.List { return d.hearing().Lone(d.seen.status.Time) }

// look returns the balancers that have not let go and, once all have, the agents that have not finished.
func (d *departure) look(ctx context.Context) ([]status.Obstacle, error) {
	unanswered := d.seen.next(ctx)
	goesOnUnheard := d.seen.absent() || d.seen.silent() && d.party.insists()
	if unanswered != nil && !goesOnUnheard {
		return unanswered, nil
	}

	connections, err := d.connections()
	if err != nil {
		return obstacle.NotKnown(err), nil
	}

	if unanswered != nil {
		lost := time.Since(d.unansweredSince())
		return d.seen.status.Unattended(connections, lost), nil
	}
	return d.remaining(connections), nil
}

// connections returns the connections to the master once every balancer has let go. Until then agents are not waited
// for.
func (d *departure) connections() ([]sockets.Connection, error) {
	if !d.told {
		return nil, nil
	}
	all, err := d.world.Connections()
	if err != nil || !d.seen.silent() {
		return all, err
	}

	// A silent daemon does not say which connection is its own, which would look like an agent's until the wait is
	// over.
	var fromElsewhere []sockets.Connection
	for _, c := range all {
		if c.Peer.Addr() != c.Local {
			fromElsewhere = append(fromElsewhere, c)
		}
	}
	return fromElsewhere, nil
}

// remaining returns what the last status shows: balancers that have not let go and, once all have, agents.
func (d *departure) remaining(connections []sockets.Connection) (list []status.Obstacle) {
	if d.told && !d.party.expectsAgents() {
		return nil
	}

	awaited := d.seen.status
	awaited.Balancers = d.party.waitsFor(awaited.Balancers)
	for _, v := range awaited.Services {
		if !d.want.Hold.Covers(v.Name) {
			continue
		}
		if untold := awaited.Untold(v, d.party.mustListen()); len(untold) > 0 {
			list = append(list, obstacle.Join(v.Keeps, untold)...)
		}
		if d.told {
			list = append(list, d.seen.status.Busy(v, connections)...)
		}
	}
	return list
}

// unansweredSince returns since when balancers may find no daemon that uses this master.
func (d *departure) unansweredSince() time.Time {
	if d.seen.absent() {
		return d.seen.ran
	}

	// A silent daemon may answer balancers by the hold, once that is written.
	if d.seen.silent() && d.setAt.After(d.seen.lost) {
		return d.setAt
	}
	return d.seen.lost
}

// wait looks until the way has been clear for settled, or the phase is over. It returns nil if the way is clear, and
// what was in the way if the phase is over and the party goes on all the same. The way out ends with an error if the
// master need not leave any more, if the hold is gone, or if the pool cannot do without the master.
func (d *departure) wait(ctx context.Context, of phase, settled time.Duration,
	look func(ctx context.Context) ([]status.Obstacle, error)) (left []status.Obstacle, err error) {
	isOver := func() bool { return !time.Now().Before(d.party.end(of)) }
	left, err = d.world.waitUntilClear(ctx, isOver, settled, func(ctx context.Context) ([]status.Obstacle, error) {
		if err := d.party.wanted(ctx); err != nil {
			return nil, err
		}
		list, err := look(ctx)
		if err != nil {
			return nil, err
		}
		return list, d.mayGoOn()
	})
	if err != nil || left == nil {
		return nil, err
	}
	return left, d.party.late(of, left)
}

// mayGoOn returns an error if the hold is gone, or if the pool cannot do without the master.
func (d *departure) mayGoOn() error {
	if err := d.stillHolds(); err != nil {
		return err
	}
	// While the last agents finish, balancer.Rule gives the master back to a balancer that needs it.
	if d.told {
		return nil
	}
	if needs := d.party.mustStay(); len(needs) > 0 {
		return &Error{Kind: Refused, Text: "must stay in service", Left: needs}
	}
	return nil
}

// stillHolds returns errGone if the hold that was set is not there any more. A hold whose end the clock has jumped over
// gets another end, if it is to last.
func (d *departure) stillHolds() error {
	if d.set.Mode == "" {
		return nil
	}

	now := time.Now().Round(0) // by the wall clock, as the end of a hold is
	end := d.party.until(d.set.Leaving).Round(0)
	hasEnded := !d.set.InEffect(now)
	if hasEnded && end.After(now) {
		set, err := d.world.Amend(d.set, func(h *drain.Hold) { h.Until = end })
		if err == nil {
			d.set = set
		}
		return err
	}

	if hasEnded || !slices.Contains(d.world.Holds.Read().Holds(), d.set) {
		return errGone
	}
	return nil
}
