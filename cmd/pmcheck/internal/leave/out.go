package leave

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
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

// Request is the wish of a party that wants a master, or one service of it, out of its pool.
type Request struct {
	// Hold is the hold to set. One that its holder sets again keeps its reason and its end if Hold has none,
	// and an end at the next reboot.
	Hold drain.Hold
	// New says that the holder must not hold yet: a hold of the same name is another party's.
	New bool
	// Wait is the limit of a command.
	Wait time.Duration
	// Idle says that the last agent must have finished, too.
	Idle bool
	// Now sets a firm hold at once. Force sets one, too, but claims a slot, and does not ask whether the
	// pool can do without the master.
	Now, Force bool
	// Stop is the guard of a service that stops or reloads in any case, and limits its way out.
	Stop *Guard
}

// Kind says why a master has not left as asked.
type Kind int

// The kinds. After Refused, the master is not held. After NotIdle, the hold stays, and is leaving unless it
// was firm from the start or the service stops in any case.
const (
	Refused Kind = iota // the last server, or a slot or a turn that did not come
	NotIdle             // balancers were not told, or agents are left
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

// errAlone says that the fleet has no other server since the hold took effect.
var errAlone = errors.New("no other master of the fleet serves")

type departure struct {
	World
	Request
	patience patience
	set      drain.Hold    // the hold; zero while none is set
	status   status.Status // the last one; zero if no daemon has answered
	lost     time.Time     // since when no daemon answers; zero while one does
	told     bool
	fleet    bool // the fleet decides
}

// Out takes the master out of its pool: it is refused, or gets a slot or its turn, and then holds. Out
// returns once every balancer is told, or the last agent has finished, and the hold is firm: the work of
// the caller may begin. It returns the hold, which is zero if none was set, or if it was taken back. The error is
// an *Error, of the holds, ErrCancelled or ErrDied.
//
// If ctx ends before every balancer is told, a hold that is leaving is lifted, and the error is that of ctx.
func Out(ctx context.Context, w World, r Request) (set drain.Hold, err error) {
	d := &departure{World: w, Request: r}
	now := time.Now()
	d.patience = patience{limit: r.Wait, began: now, progress: now, slots: map[string]bool{}}
	if r.Stop != nil {
		d.patience.stop = &r.Stop.Limits
	}
	err = d.out(ctx)
	if errors.Is(err, errGone) {
		d.set, err = drain.Hold{}, &Error{Kind: Refused, Text: err.Error()}
	}
	return d.set, err
}

func (d *departure) out(ctx context.Context) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	for {
		leaving, err := d.turn(ctx)
		if err == nil {
			err = d.hold(leaving)
		}
		if err != nil || !d.Idle && (d.Now || d.absent()) {
			return err
		}
		err = d.follow(ctx)
		late, _ := errors.AsType[*Error](err)
		switch {
		case err == nil || d.Stop != nil && late != nil && late.Kind == NotIdle: // it stops in any case
			return errors.Join(err, d.hold(drain.Firm))
		case d.told || d.set.Leaving == drain.Firm:
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
	service := d.Hold.Service
	left, err := d.wait(ctx, phaseTurn, 0, func(ctx context.Context) ([]status.Obstacle, error) {
		list := d.next(ctx)
		switch _, err := d.status.Service(service); {
		case list == nil && service != "" && err != nil:
			return nil, err
		case d.Now || d.absent():
			return nil, nil
		case list == nil && !d.Force:
			return young(d.status), nil
		}
		return list, nil
	})
	switch {
	case err != nil || d.Force:
		return err
	case left != nil && d.Stop == nil: // a daemon may answer, and know better
		return &Error{Kind: Refused, Text: fmt.Sprintf("not out within %s", d.Wait), Left: left}
	}
	for _, b := range d.status.Balancers {
		if v, _ := d.status.Service(b.Service); v.Mode == drain.Ready && d.needed(b) {
			return &Error{Kind: Refused, Text: "must stay in service", Left: []status.Obstacle{b.Alone()}}
		}
	}
	return nil
}

// last reports whether a balancer has no other server now, and is told of the hold.
func (d *departure) last(b status.Balancer) bool {
	return b.View != nil && b.View.Last() && !b.Hides(d.Hold.Mode) && d.Hold.Covers(b.Service)
}

// needed reports whether a balancer has no other server, and expects none back, and so keeps the master from leaving
// at all. Now leaves no time for one. A service that stops in any case is drained beside a balancer that never had
// another server, as that of the only CA, if agents are known to go elsewhere: another balancer has had other
// servers, or a gate sends them to others of the fleet.
func (d *departure) needed(b status.Balancer) bool {
	missing, _ := b.Missing(d.status.Time)
	pooled := viewed(d.status, d.Hold.Service, d.Hold.Mode) || d.Fleet != nil && d.status.Gate.Runs(d.status.Time)
	return d.last(b) && (d.Now || missing == 0 && (d.Stop == nil || b.Pooled() || !pooled))
}

// viewed reports whether a balancer with a view decides about a service in a mode; an empty service stands
// for any.
func viewed(s status.Status, service string, mode drain.Mode) bool {
	return slices.ContainsFunc(s.Balancers, func(b status.Balancer) bool {
		return b.View != nil && b.Pooled() && (service == "" || b.Service == service) && !b.Hides(mode)
	})
}

// asksFleet reports whether the fleet decides about a service in a mode, unless a budget does.
func (w World) asksFleet(s status.Status, service string, mode drain.Mode) bool {
	return w.Fleet != nil && Budgeted(service) && !viewed(s, monitor.Server, mode)
}

// Keeps returns what would keep the master, or one service of it, from leaving now: what would be refused or
// waited for.
func (w World) Keeps(ctx context.Context, s status.Status, service string, mode drain.Mode) (list []status.Obstacle) {
	for _, v := range s.Services {
		if service == "" || v.Name == service {
			list = append(list, v.Keeps...)
		}
	}
	if s.Budget == nil && w.asksFleet(s, service, mode) {
		others, _ := w.Fleet(ctx)
		missing, _ := Misses(others)
		list = append(list, missing...)
	}
	return list
}

// turn waits until the budget or the fleet lets the master go, and returns how patient its hold is. One
// that does not serve, or is held already, waits for nobody.
func (d *departure) turn(ctx context.Context) (drain.Leaving, error) {
	service, mode := d.Hold.Service, d.Hold.Mode
	v, missing := d.status.Service(cmp.Or(service, monitor.Server))
	held := v.Mode != drain.Ready && v.Leaving == drain.Firm
	d.fleet = false
	switch {
	case d.Now || d.absent() || missing == nil && (held || !v.Verdict.Health.Serves()):
		return drain.Firm, nil
	case d.Claim != nil && Budgeted(service):
		if counts, err := d.slot(ctx); err != nil || counts && !d.Force {
			return drain.LeavingBesideSpare, err
		}
	}
	switch {
	case d.Force:
		return drain.Firm, nil
	case d.asksFleet(d.status, service, mode):
		d.fleet = true
		return drain.LeavingInTurn, d.witnessed(ctx)
	case !viewed(d.status, service, mode):
		d.Note("nothing tells whether the pool can do without this master: " +
			"no balancer sends its view, and neither budget nor fleet is set")
	}
	return drain.LeavingInTurn, nil
}

// slot claims a slot in the budget, and reports whether the budget counts: a stop goes on without a database that
// does not answer. If it gets no slot in time, it goes on beside a spare server.
func (d *departure) slot(ctx context.Context) (counts bool, err error) {
	want := budget.Claim{Reason: d.Hold.Reason, By: d.Hold.Holder, Serves: d.status.Serves(), Force: d.Force}
	if want.By == drain.Operator {
		want.By = cmp.Or(os.Getenv("SUDO_USER"), want.By)
	}
	answered := time.Now()
	left, err := d.wait(ctx, phaseTurn, 0, func(ctx context.Context) ([]status.Obstacle, error) {
		err := d.Claim(ctx, want)
		if taken, is := errors.AsType[*budget.TakenError](err); is {
			answered = time.Now()
			d.patience.noteSlots(taken.Slots, answered)
		} else if err == nil || d.Stop == nil || time.Since(answered) >= budgetPause {
			return nil, err
		}
		pause(ctx, claimEvery)
		return obstacle(balancer.ObstacleBudget, "%s", err), nil
	})
	switch {
	case errors.Is(err, budget.ErrUnreachable) && (d.Stop != nil || d.Force):
		d.Note("goes on without the budget: " + err.Error())
		return false, nil
	case left != nil && d.Stop == nil:
		return true, &Error{Kind: Refused, Text: "no slot in time", Left: left}
	case left != nil:
		d.Note("goes on without a slot: " + balancer.Summary(left))
		want.Force = true
		_ = d.Claim(ctx, want) // others must see it, but the service stops in any case
	}
	return true, err
}

// witnessed waits until the fleet can do without this master, at two looks: masters that leave at the
// same time pause for different times in between. It refuses a master that none is expected to help.
func (d *departure) witnessed(ctx context.Context) error {
	named, paused := "", false
	left, err := d.wait(ctx, phaseTurn, 0, func(ctx context.Context) ([]status.Obstacle, error) {
		others, place := d.Fleet(ctx)
		list, silent := Misses(others)
		if line := strings.Join(silent, ", "); line != named && line != "" {
			named = line
			d.Note("of the fleet do not answer: " + line)
		}
		again := turnTime
		switch {
		case len(list) > 0 && list[0].Kind == balancer.ObstacleLast:
			return nil, &Error{Kind: Refused, Text: "must stay in service", Left: list}
		case len(list) == 0 && paused:
			return nil, nil
		case len(list) == 0:
			again *= time.Duration(place % turns)
			list = obstacle(balancer.ObstacleTurn, "asks the fleet again in %s", again)
			paused = true
		default:
			paused = false
		}
		pause(ctx, min(again, time.Until(d.patience.end(phaseTurn))))
		return list, nil
	})
	if err == nil && left != nil && d.Stop == nil {
		err = &Error{Kind: Refused, Text: "its turn has not come", Left: left}
	}
	return err
}

// hold writes the hold, or changes what it waits for. One that another party has lifted or replaced meanwhile is gone.
func (d *departure) hold(leaving drain.Leaving) error {
	before := d.set
	set, err := d.Holds.Change(d.Hold.Holder, d.Hold.Service, func(old drain.Hold) (drain.Hold, error) {
		switch {
		case before.Mode != "" && old != before:
			return old, errGone
		case before.Mode == "" && old.Mode != "" && d.New:
			return old, &Error{Kind: Taken, Text: fmt.Sprintf("%s holds already: %s", old.Holder, old)}
		}
		return d.over(old, leaving), nil
	})
	if err != nil {
		return err
	}
	if before.Mode == "" && d.Changed != nil {
		d.Changed("held", set)
	}
	d.set = set
	return nil
}

// over returns the hold to set in place of old. One that is set again, to wait for it or to make it stricter,
// must not become endless or lose its reason, and one that is firm stays firm: work may have begun. A zero old
// holds nothing. That of a service that stops has an end, so that one whose lift is lost ends by itself; one that is
// leaving takes nothing from agents, and outlasts every wait.
func (d *departure) over(old drain.Hold, leaving drain.Leaving) drain.Hold {
	h := d.Hold
	h.Leaving = leaving
	if d.Stop != nil {
		h.Until = time.Now().Add(longestStart)
		if leaving != drain.Firm {
			h.Until = h.Until.Add(LongestTurn + overtime + d.Stop.Limits.Wait)
		}
	}
	if old.Mode == "" {
		return h
	}
	if old.Leaving == drain.Firm {
		h.Leaving = drain.Firm
	}
	if h.Until.IsZero() {
		h.Until = old.Until
	}
	h.Reason, h.UntilReboot = cmp.Or(h.Reason, old.Reason), h.UntilReboot || old.UntilReboot
	return h
}

// undo lifts the hold. One that is gone by now is another party's matter.
func (d *departure) undo() error {
	if err := d.Lift(d.set); err != nil {
		return err
	}
	d.set = drain.Hold{}
	return nil
}

// follow waits until every balancer is told and, if asked, the last agent has finished.
func (d *departure) follow(ctx context.Context) error {
	if d.Now { // the hold waits for nobody
		return d.idle(ctx)
	}
	left, err := d.wait(ctx, phaseTurn, 0, d.look)
	if err == nil && left != nil && d.Stop != nil {
		d.Note("goes on wherever there is another server: " + balancer.Summary(left))
		if err = d.hold(drain.LeavingBesideSpare); err == nil {
			left, err = d.wait(ctx, phaseInsist, 0, d.look)
		}
	}
	switch {
	case err != nil:
		return err
	case left != nil && d.Stop == nil:
		e := &Error{Kind: Refused, Text: fmt.Sprintf("not out within %s", d.Wait), Left: left}
		if d.set.Leaving == drain.Firm { // it is a matter of time
			e.Kind = NotIdle
		}
		return e
	case left != nil:
		d.Note("stops regardless: " + balancer.Summary(left))
		if slices.ContainsFunc(d.status.Balancers, func(b status.Balancer) bool { return b.Pooled() && d.last(b) }) {
			return nil // its agents can go nowhere
		}
	case d.fleet && !d.ended(phaseInsist):
		others, _ := d.Fleet(ctx)
		serves := func(w Witness) bool { return w.Code == http.StatusOK }
		if len(others) > 0 && !slices.ContainsFunc(others, serves) {
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
	left, err := d.wait(ctx, phaseIdle, settle, d.look)
	if err != nil || left == nil {
		return err
	}
	took := cmp.Or(d.Wait, time.Since(d.patience.began).Round(time.Second))
	return &Error{Kind: NotIdle, Text: fmt.Sprintf("not idle within %s", took), Left: left}
}

// look returns the balancers that have not been told and, once all have been, the agents that have not finished. If
// no agent would go elsewhere, a service that stops in any case does not wait for them.
func (d *departure) look(ctx context.Context) (list []status.Obstacle, err error) {
	if list = d.next(ctx); list != nil && !d.absent() {
		return list, nil
	}
	var connections []tcp.Connection
	if d.told {
		if connections, err = d.Connections(d.status.Probe.Address); err != nil {
			return unknown(err), nil
		}
	}
	switch {
	case d.absent():
		return Unattended(connections, time.Since(d.lost)), nil
	case d.told && d.Stop != nil && Unheard(d.status, d.patience.told):
		return nil, nil
	}
	for _, v := range d.status.Services {
		if !d.Hold.Covers(v.Name) {
			continue
		}
		if untold := Untold(d.status, v); len(untold) > 0 {
			list = append(append(list, v.Keeps...), untold...)
		}
		if d.told {
			list = append(list, Busy(d.status, v, connections)...)
		}
	}
	return list, nil
}

// next reads the next status. It returns an obstacle if there is none.
func (d *departure) next(ctx context.Context) []status.Obstacle {
	s, err := d.Next(ctx)
	switch {
	case err == nil:
		d.status, d.lost = s, time.Time{}
		d.patience.note(s, time.Now())
		return nil
	case errors.Is(err, status.ErrNoDaemon) && d.lost.IsZero():
		d.lost = time.Now()
	}
	return unknown(err)
}

// absent reports whether no daemon answers, for longer than a restart of it takes.
func (d *departure) absent() bool { return !d.lost.IsZero() && time.Since(d.lost) >= daemonPause }

// ended reports whether a phase is over. A stop waits for no server that is not expected back.
func (d *departure) ended(of phase) bool {
	hopeless := d.Stop != nil && slices.ContainsFunc(d.status.Balancers, d.needed)
	return hopeless || !time.Now().Before(d.patience.end(of))
}

// wait looks until the way has been clear for settled, or the phase is over, and returns what was in the
// way last: nil if it is clear.
func (d *departure) wait(ctx context.Context, of phase, settled time.Duration,
	look func(ctx context.Context) ([]status.Obstacle, error)) (left []status.Obstacle, err error) {
	over := func() bool { return d.ended(of) }
	return d.World.wait(ctx, over, settled, func(ctx context.Context) ([]status.Obstacle, error) {
		if d.Stop != nil {
			stops, err := d.Stop.check(ctx)
			if err != nil {
				return nil, err
			}
			if stops && d.patience.hostStops.IsZero() {
				d.patience.hostStops = time.Now()
			}
		}
		list, err := look(ctx)
		if d.set.Mode != "" && !slices.Contains(d.Holds.Read().At(time.Now()).Holds(), d.set) {
			return nil, errGone
		}
		return list, err
	})
}
