package leave

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

const (
	// daemonPause is how long a restart of the daemon may take.
	daemonPause = 5 * time.Second
	// claimEvery is how often a slot in the budget is claimed while others have it.
	claimEvery = 2 * time.Second
	// budgetPause is how long a stop waits for a database that does not answer.
	budgetPause = 30 * time.Second
)

// Holds are the holds of this host: a drain.Store.
type Holds interface {
	Change(holder, service string, next func(old drain.Hold) drain.Hold) (drain.Hold, error)
	Undo(set, before drain.Hold) (restored bool, err error)
	Lift(holder, service string) ([]drain.Hold, error)
	Read() drain.Snapshot
}

// World is what the way out and back sees and changes.
type World struct {
	// Next returns the daemon's status: at once the first time, then after the next change, or after
	// about a second. The error wraps status.ErrNoDaemon if no daemon answers.
	Next        func(ctx context.Context) (status.Status, error)
	Connections func(master string) ([]tcp.Connection, error)
	Holds       Holds
	// Claim claims a slot in the budget; nil without one. The error wraps budget.ErrTaken or
	// budget.ErrUnreachable.
	Claim func(ctx context.Context, want budget.Claim) error
	// Fleet asks the other masters, see Fleet.Ask; nil if no fleet is known.
	Fleet func(ctx context.Context) (others []Witness, place int)
	// Say shows what is waited for, and Note what has been decided.
	Say, Note func(line string)
}

// Request is the wish of a party that wants a master, or one service of it, out of its pool.
type Request struct {
	Wish Wish
	// Wait is the limit of a command.
	Wait time.Duration
	// Idle says that the last agent must have finished, too.
	Idle bool
	// Now sets a firm hold at once. Force sets one, too, but claims a slot, and does not ask whether the
	// pool can do without the master.
	Now, Force bool
	// Stop is set if the service stops or reloads in any case.
	Stop *Stop
}

// Stop is what limits a service that stops or reloads in any case.
type Stop struct {
	Limits config.Guard
	// Check is called now and then. It reports whether the host shuts down; an error ends the way out.
	Check func(ctx context.Context) (hostStops bool, err error)
}

// Kind says why a master has not left as asked.
type Kind int

// The kinds. After Refused and NotTold, the hold is what it was before, or gone if that was leaving. After
// NotIdle, it stays, and is leaving unless the service stops in any case.
const (
	Refused Kind = iota // the last server, or a slot or a turn that did not come
	NotTold             // not every balancer was told in time
	NotIdle             // agents are left
	Taken               // another party holds under the same name
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
	return e.Text + ": " + balancer.Summary(e.Left)
}

// Result is what has become of a Request.
type Result struct {
	Set    drain.Hold    // the hold; zero if none was set
	Before drain.Hold    // the one that it replaced; zero if there was none
	Kept   []Field       // what it keeps of that
	Status status.Status // the last one; zero if no daemon has answered
}

// errAlone says that the fleet has no other server since the hold took effect.
var errAlone = errors.New("no other master of the fleet serves")

// departure is one run of Out.
type departure struct {
	World
	Request
	Result
	patience patience
	lost     time.Time // since when no daemon answers; zero while one does
	told     bool
	fleet    bool // the fleet decides
}

// Out takes the master out of its pool: it is refused, or gets a slot or its turn, and then holds. Out
// returns once every balancer is told, or the last agent has finished, and the hold is firm: the work of
// the caller may begin. The error is an *Error, of the holds, or of Stop.Check.
//
// If ctx ends before every balancer is told, the hold is put back, and the error is that of ctx.
func Out(ctx context.Context, w World, r Request) (Result, error) {
	d := &departure{World: w, Request: r}
	d.patience = patience{limit: r.Wait, began: time.Now(), low: map[string]int{}, counted: map[string]int{}}
	if r.Stop != nil {
		d.patience.stop = &r.Stop.Limits
	}
	err := d.out(ctx)
	return d.Result, err
}

func (d *departure) out(ctx context.Context) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	for {
		leaving, err := d.turn(ctx)
		if err != nil {
			return err
		}
		if err := d.hold(leaving); err != nil {
			return err
		}
		if d.Now && !d.Idle || d.absent() && !d.Idle && d.Stop == nil {
			return nil
		}
		switch err = d.follow(ctx); {
		case err == nil:
			return d.firm()
		case d.told && !errors.Is(err, errAlone):
			return err
		}
		if err := errors.Join(d.undo(), err); !errors.Is(err, errAlone) {
			return err
		}
		d.Note("goes back into service: " + err.Error())
	}
}

// begin waits until the daemon knows its balancers, and refuses a master that the pool cannot do without, or
// of which that cannot be known. With Now it looks once.
func (d *departure) begin(ctx context.Context) error {
	service := d.Wish.Hold.Service
	heard := func(ctx context.Context) []status.Obstacle {
		list := d.next(ctx)
		_, err := d.Status.ServiceOrError(service)
		switch {
		case d.absent() || d.Now || list == nil && err != nil && service != "":
			return nil
		case list != nil || d.Force:
			return list
		}
		return unheard(d.Status)
	}
	left, err := d.wait(ctx, phaseBegin, 0, heard)
	switch {
	case err != nil:
		return err
	case left != nil && d.Stop == nil && !d.Force: // a daemon may answer, and know better
		return &Error{Kind: NotTold, Text: fmt.Sprintf("not out within %s", d.Wait), Left: left}
	case len(d.Status.Services) == 0:
		return nil
	}
	if _, err := d.Status.ServiceOrError(service); err != nil && service != "" {
		return err
	}
	if last := LastServer(d.Status, service, d.Wish.Hold.Mode, d.needs); len(last) > 0 && !d.Force {
		return &Error{Kind: Refused, Text: "must stay in service", Left: last[:1]}
	}
	return nil
}

// needs reports whether a balancer without another server keeps the master from leaving at all: none is
// expected back. Now leaves no time for one. A service that stops in any case is drained beside a
// balancer that never had another server, as that of the only CA, if there are others.
func (d *departure) needs(b status.Balancer) bool {
	missing, _ := b.Missing(d.Status.Time)
	return d.Now || !missing && (d.Stop == nil || b.Pooled() || !d.pooled())
}

// pooled reports whether agents are known to go elsewhere: a balancer has had other servers, or a gate
// sends them to others of the fleet.
func (d *departure) pooled() bool {
	hold := d.Wish.Hold
	return Viewed(d.Status.Balancers, hold.Service, hold.Mode) || d.Fleet != nil && d.Status.Gate.Runs(d.Status.Time)
}

// Viewed reports whether a balancer with a view decides about a service in a mode; an empty service stands
// for any.
func Viewed(balancers []status.Balancer, service string, mode drain.Mode) bool {
	return slices.ContainsFunc(balancers, func(b status.Balancer) bool {
		return b.View != nil && b.Pooled() && (service == "" || b.Service == service) && !b.Hides(mode)
	})
}

// turn waits until the budget or the fleet lets the master go, and returns how patient its hold is. One
// that does not serve, or is held already, waits for nobody.
func (d *departure) turn(ctx context.Context) (drain.Leaving, error) {
	service, mode := d.Wish.Hold.Service, d.Wish.Hold.Mode
	v, known := d.Status.Service(cmp.Or(service, monitor.Server))
	d.fleet = false
	switch {
	case d.Now || d.absent() || known && !v.Verdict.Health.Serves():
		return drain.Firm, nil
	case known && v.Mode != drain.Ready && v.Leaving == drain.Firm:
		return drain.LeavingInTurn, nil
	case (d.Claim != nil || d.Status.Budget != nil) && Budgeted(service):
		if leaving, err := d.slot(ctx); leaving != drain.Firm || err != nil {
			return leaving, err
		}
	}
	switch {
	case d.Force:
		return drain.Firm, nil
	case d.Fleet != nil && Budgeted(service) && !Viewed(d.Status.Balancers, monitor.Server, mode):
		d.fleet = true
		return drain.LeavingInTurn, d.witnessed(ctx)
	case !Viewed(d.Status.Balancers, service, mode):
		d.Note("nothing tells whether the pool can do without this master: " +
			"no balancer sends its view, and neither budget nor fleet is set")
	}
	return drain.LeavingInTurn, nil
}

// slot claims a slot in the budget. If a stop is not given one in time, it goes on beside a spare server,
// and if it cannot ask, the zero value says that the budget does not count.
func (d *departure) slot(ctx context.Context) (drain.Leaving, error) {
	hold := d.Wish.Hold
	want := budget.Claim{Reason: hold.Reason, By: Claimant(hold), Serves: d.Status.Serves(), Force: d.Force}
	if d.Claim == nil { // the daemon has a budget, and the configuration that names it is broken by now
		d.Claim = func(context.Context, budget.Claim) error { return budget.ErrUnreachable }
	}
	began, lost := time.Now(), error(nil)
	left, err := d.wait(ctx, phaseTurn, 0, func(ctx context.Context) []status.Obstacle {
		err := d.Claim(ctx, want)
		if taken, is := errors.AsType[*budget.TakenError](err); is {
			d.patience.noteSlots(taken.Slots, time.Now())
		}
		lost = nil
		switch {
		case err == nil:
			return nil
		case errors.Is(err, budget.ErrUnreachable):
			if lost = err; d.Stop == nil || time.Since(began) >= budgetPause {
				return nil
			}
		default:
			began = time.Now()
		}
		pause(ctx, claimEvery)
		return []status.Obstacle{balancer.NewObstacle(balancer.ObstacleBudget, "", "%s", err)}
	})
	switch {
	case err != nil:
		return "", err
	case lost != nil && d.Stop == nil && !d.Force:
		return "", lost
	case lost != nil:
		d.Note("goes on without the budget: " + lost.Error())
		return drain.Firm, nil
	case left != nil && d.Stop == nil:
		return "", &Error{Kind: Refused, Text: "no slot in time", Left: left}
	case left != nil:
		d.Note("goes on without a slot: " + balancer.Summary(left))
		want.Force = true
		_ = d.Claim(ctx, want) // others must see it, but the service stops in any case
	}
	if d.Force {
		return drain.Firm, nil
	}
	return drain.LeavingBesideSpare, nil
}

// witnessed waits until the fleet can do without this master, at two looks: masters that leave at the
// same time pause for different times in between. It refuses a master that none is expected to help.
func (d *departure) witnessed(ctx context.Context) error {
	named, paused, last := "", false, false
	left, err := d.wait(ctx, phaseTurn, 0, func(ctx context.Context) []status.Obstacle {
		others, place := d.Fleet(ctx)
		list, silent := Misses(others)
		if line := strings.Join(silent, ", "); line != named && line != "" {
			named = line
			d.Note("of the fleet do not answer: " + line)
		}
		if last = len(list) > 0 && list[0].Kind == balancer.ObstacleLast; last || len(list) == 0 && paused {
			return nil
		}
		again := turnTime
		if paused = len(list) == 0; paused {
			again *= time.Duration(place % turns)
			list = []status.Obstacle{balancer.NewObstacle(balancer.ObstacleTurn, "", "asks the fleet again in %s", again)}
		}
		pause(ctx, again)
		return list
	})
	switch {
	case err != nil:
		return err
	case last:
		return &Error{Kind: Refused, Text: "must stay in service: no other master of the fleet serves"}
	case left != nil && d.Stop == nil:
		return &Error{Kind: Refused, Text: "its turn has not come", Left: left}
	}
	return nil
}

// hold writes the hold. One that cannot be read is firm, and is not removed if the way out is cut short:
// its work may have begun.
func (d *departure) hold(leaving drain.Leaving) (err error) {
	taken, unreadable := false, slices.ContainsFunc(d.Holds.Read().Holds(), func(h drain.Hold) bool {
		return h.Code != "" && h.Holder == d.Wish.Hold.Holder && h.Service == d.Wish.Hold.Service
	})
	if unreadable {
		leaving = drain.Firm
	}
	d.Set, err = d.Holds.Change(d.Wish.Hold.Holder, d.Wish.Hold.Service, func(old drain.Hold) (h drain.Hold) {
		d.Before = old
		if taken = d.Wish.New && old.Mode != ""; taken {
			return drain.Hold{} // not valid, and so not written
		}
		w := d.Wish
		w.Hold.Leaving = leaving
		if d.Stop != nil {
			w.Hold.Until = holdsUntil(time.Now(), leaving, d.Stop.Limits)
		}
		h, d.Kept = w.Over(old)
		return h
	})
	if taken {
		d.Set = drain.Hold{}
		return &Error{Kind: Taken, Text: d.Before.Holder + " holds already"}
	}
	if unreadable {
		d.Before = d.Set
	}
	return err
}

// change makes the hold firmer. It fails if the hold was lifted, or has ended.
func (d *departure) change(leaving drain.Leaving) error {
	gone := false
	set, err := d.Holds.Change(d.Set.Holder, d.Set.Service, func(old drain.Hold) drain.Hold {
		if gone = old.Mode == ""; gone {
			return drain.Hold{} // not valid, and so not written
		}
		if old.Leaving != drain.Firm {
			old.Leaving = leaving
		}
		if d.Stop != nil {
			old.Until = holdsUntil(time.Now(), leaving, d.Stop.Limits)
		}
		return old
	})
	switch {
	case gone:
		return lifted()
	case err == nil:
		d.Set = set
	}
	return err
}

func (d *departure) firm() error {
	if d.Set.Leaving == drain.Firm && d.Stop == nil {
		return nil
	}
	return d.change(drain.Firm)
}

// undo puts back what was there before the hold, unless that was leaving: nobody may follow it any more.
// A hold that is gone by now is another party's matter.
func (d *departure) undo() error {
	if d.Before.Leaving != drain.Firm {
		d.Before = drain.Hold{}
	}
	_, err := d.Holds.Undo(d.Set, d.Before)
	d.Set = drain.Hold{}
	if errors.Is(err, drain.ErrNotFound) {
		return nil
	}
	return err
}

// follow waits until every balancer is told and, if asked, the last agent has finished.
func (d *departure) follow(ctx context.Context) error {
	if d.Now { // the hold waits for nobody
		return d.idle(ctx)
	}
	left, err := d.wait(ctx, phaseTurn, 0, d.untold)
	if err == nil && left != nil && d.Stop != nil {
		d.Note("goes on wherever there is another server: " + balancer.Summary(left))
		if err = d.change(drain.LeavingBesideSpare); err == nil {
			left, err = d.wait(ctx, phaseInsist, 0, d.untold)
		}
	}
	switch {
	case err != nil:
		return err
	case left != nil && d.Set.Leaving == drain.Firm && d.Stop == nil:
		d.told = true // it is a matter of time
		return &Error{Kind: NotIdle, Text: fmt.Sprintf("not out within %s", d.Wait), Left: left}
	case left != nil && d.Stop == nil:
		return &Error{Kind: NotTold, Text: fmt.Sprintf("not out within %s", d.Wait), Left: left}
	case left != nil:
		d.Note("stops regardless: " + balancer.Summary(left))
		if d.alone(func(status.Balancer) bool { return true }) {
			return nil // its agents can go nowhere
		}
	}
	if d.fleet && left == nil {
		others, _ := d.Fleet(ctx)
		serves := func(w Witness) bool { return w.Code == http.StatusOK }
		if len(others) > 0 && !slices.ContainsFunc(others, serves) && !d.over(phaseInsist) {
			return errAlone
		}
	}
	return d.idle(ctx)
}

// idle waits, if asked, until the last agent has finished.
func (d *departure) idle(ctx context.Context) error {
	d.told, d.patience.told = true, time.Now()
	if !d.Idle {
		return nil
	}
	left, err := d.wait(ctx, phaseIdle, settle, d.busy)
	if err != nil || left == nil {
		return err
	}
	took := time.Since(d.patience.began).Round(time.Second)
	err = &Error{Kind: NotIdle, Text: fmt.Sprintf("not idle within %s", took), Left: left}
	if d.Stop != nil { // it stops in any case
		err = errors.Join(err, d.firm())
	}
	return err
}

// untold looks for balancers that have not been told.
func (d *departure) untold(ctx context.Context) []status.Obstacle {
	list := d.next(ctx)
	switch {
	case d.absent():
		return slices.DeleteFunc(d.unattended(), func(o status.Obstacle) bool { return o.Kind != balancer.ObstacleUntold })
	case list != nil:
		return list
	}
	for _, v := range d.services() {
		if missing := Untold(d.Status, v.Name, v.ModeSince); len(missing) > 0 {
			list = append(append(list, v.Keeps...), missing...)
		}
	}
	return list
}

// busy looks for balancers that have not been told, and for agents that have not finished. If no agent
// would go elsewhere, a service that stops in any case does not wait for them.
func (d *departure) busy(ctx context.Context) []status.Obstacle {
	list := d.next(ctx)
	switch {
	case d.absent():
		return d.unattended()
	case list != nil:
		return list
	case d.Stop != nil && Unheard(d.Status, d.patience.told):
		return nil
	}
	connections, err := d.Connections(d.Status.Probe.Address)
	if err != nil {
		return unknown(err)
	}
	for _, v := range d.services() {
		list = append(list, Untold(d.Status, v.Name, v.ModeSince)...)
		list = append(list, Busy(d.Status, v.Name, connections, v.ModeSince)...)
	}
	return list
}

// services returns the services that the hold concerns.
func (d *departure) services() []status.ServiceStatus {
	return slices.DeleteFunc(slices.Clone(d.Status.Services), func(v status.ServiceStatus) bool {
		return !d.Wish.Hold.Covers(v.Name)
	})
}

// unattended is what is in the way without a daemon.
func (d *departure) unattended() []status.Obstacle {
	connections, err := d.Connections(d.Status.Probe.Address)
	if err != nil {
		return unknown(err)
	}
	return Unattended(d.Status, d.Wish.Hold.Service, connections, time.Since(d.lost))
}

// next reads the next status. It returns an obstacle if there is none.
func (d *departure) next(ctx context.Context) []status.Obstacle {
	s, err := d.Next(ctx)
	switch {
	case err == nil:
		d.Status, d.lost = s, time.Time{}
		d.patience.note(s, time.Now())
		return nil
	case errors.Is(err, status.ErrNoDaemon) && d.lost.IsZero():
		d.lost = time.Now()
	}
	return unknown(err)
}

// absent reports whether no daemon answers, for longer than a restart of it takes.
func (d *departure) absent() bool { return !d.lost.IsZero() && time.Since(d.lost) >= daemonPause }

// over reports whether a phase is over. A stop waits for no server that is not expected back, unless the
// host shuts down: then it serves on.
func (d *departure) over(of phase) bool {
	hopeless := d.Stop != nil && d.patience.hostStops.IsZero() && d.alone(func(b status.Balancer) bool {
		missing, _ := b.Missing(d.Status.Time)
		return !missing
	})
	return hopeless || !time.Now().Before(d.patience.end(of))
}

// alone reports whether a balancer that has had other servers has none now, and is as is says.
func (d *departure) alone(is func(status.Balancer) bool) bool {
	h := d.Wish.Hold
	return slices.ContainsFunc(d.Status.Balancers, func(b status.Balancer) bool {
		return h.Covers(b.Service) && !b.Hides(h.Mode) && b.Pooled() && b.Last() && is(b)
	})
}

// wait looks until the way has been clear for settled, or the phase is over, and returns what was in the
// way last: nil if it is clear. look must not return much later than ctx ends.
func (d *departure) wait(ctx context.Context, of phase, settled time.Duration,
	look func(ctx context.Context) []status.Obstacle) (left []status.Obstacle, err error) {
	clear := drain.Settle{After: settled}
	for {
		if d.Stop != nil {
			stops, err := d.Stop.Check(ctx)
			if err != nil {
				return left, err
			}
			if stops && d.patience.hostStops.IsZero() {
				d.patience.hostStops = time.Now()
			}
		}
		limited, cancel := context.WithDeadline(ctx, d.patience.end(of))
		list := look(limited)
		cut := limited.Err() != nil // the look tells nothing
		cancel()
		if d.Set.Mode != "" && !slices.ContainsFunc(d.Holds.Read().Holds(), d.isOwn) {
			return left, lifted()
		}
		switch {
		case ctx.Err() != nil:
			return left, ctx.Err()
		case clear.Observe(len(list) == 0, time.Now()):
			return nil, nil
		case len(list) > 0 && (left == nil || !cut):
			left = list
		}
		if d.over(of) {
			if left == nil {
				left = unknown(fmt.Errorf("not clear for %s", settled))
			}
			return left, nil
		}
		if len(list) > 0 {
			d.Say(balancer.Summary(list))
		}
	}
}

// lifted is the error of a departure that has nothing left to wait for.
func lifted() error {
	return &Error{Kind: NotTold, Text: "the hold was lifted meanwhile, or has ended"}
}

// isOwn reports whether a hold is that of this departure, be it set again by the same holder.
func (d *departure) isOwn(h drain.Hold) bool {
	return h.Holder == d.Set.Holder && h.Service == d.Set.Service
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func unknown(err error) []status.Obstacle {
	return []status.Obstacle{balancer.NewObstacle(balancer.ObstacleUnknown, "", "%s", err)}
}
