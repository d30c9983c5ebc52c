package rotation

import (
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// Departure is one master's way out of the pool, in its turn: it waits until no other
// server is missing and a window begins, leaves, and returns if another one has left in
// the same window. It knows only statuses, and is not safe for concurrent use.
type Departure struct {
	Service string          // empty: every service
	Names   []string        // of this master besides its certname, by which the fleet may list it
	Draw    func(n int) int // returns a random number below n

	tries   int
	length  time.Duration  // of the windows when window was chosen
	drawn   bool           // it may be that of another master, too
	window  time.Time      // the beginning of the chosen one; zero if there is none
	chosen  time.Time      // when it was
	before  api.Status     // the last look while the master served
	overdue *api.Status    // the same when its turn ended; nil before
	back    []api.Balancer // that have to send again after a collision
	left    time.Time      // when the hold took effect; zero while the master serves
	none    string         // the collision that left no server; empty once balancers send again
}

// Waits returns what keeps a master that serves from leaving now. If again is not zero,
// the caller must look again at that moment, even without news.
func (d *Departure) Waits(s api.Status) (list []api.Obstacle, again time.Time) {
	notBack := d.notBack(s)
	if len(notBack) == 0 {
		d.Saw(s)
	}
	list = append(d.turn(s), young(s, d.Service)...)
	if list = append(list, notBack...); len(list) > 0 {
		d.window = time.Time{}
		return list, again
	}
	windows := windowsOf(s, d.Service, d.Names)
	if windows.Length == 0 || !Replaced(s, d.Service) {
		return nil, again
	}
	setBack := s.Time.Before(d.chosen) // the clock; the window may be hours away
	if d.length != windows.Length || d.window.IsZero() || setBack || s.Time.After(d.window.Add(windows.Late)) {
		d.length, d.window, d.chosen = windows.Length, windows.Begin(s.Time, d.tries, d.Draw), s.Time
		d.drawn = windows.Count == 0
	}
	if s.Time.Before(d.window) {
		o := obstacle(api.ObstacleWindow, "", "may leave at %s, if no other server leaves first",
			d.window.Local().Format(time.TimeOnly))
		return []api.Obstacle{o}, d.window
	}
	return nil, again
}

// Overdue notes that the turn has ended. The master no longer waits for servers that are
// missing now, but it does wait for those that leave from now on: masters that have waited
// for the same server would otherwise all leave together.
func (d *Departure) Overdue() {
	before := d.before
	d.overdue, d.window = &before, time.Time{}
}

// turn returns the servers that the master waits for.
func (d *Departure) turn(s api.Status) (list []api.Obstacle) {
	if d.overdue == nil {
		return Turn(s, d.Service)
	}
	for _, was := range sendingHere(*d.overdue, d.Service) {
		if b, asks := find(s, was); asks && b.Lost(was.Others()) {
			list = append(list, obstacle(api.ObstacleTurn, b.Label(),
				"balancer %s has lost another server meanwhile", b.Label()))
		}
	}
	missing := turnOfFleet(*d.overdue, d.Service)
	return append(list, slices.DeleteFunc(turnOfFleet(s, d.Service), func(o api.Obstacle) bool {
		return slices.Contains(missing, o)
	})...)
}

// Saw records a status of the master while it serves. A caller that leaves without its turn,
// and so outside of windows, still learns from Collision that no server is left.
func (d *Departure) Saw(s api.Status) { d.before, d.none = s, "" }

// Replaced reports whether agents would go elsewhere if the master were drained, according
// to the last status while it served, or to a collision since. Otherwise a drain only makes
// an outage longer.
func (d *Departure) Replaced() bool { return d.none == "" && Replaced(d.before, d.Service) }

// ServerMayLeave is that of the last status while the master served, for a hold of every
// service.
func (d *Departure) ServerMayLeave() bool { return d.Service == "" && ServerMayLeave(d.before) }

// Late notes that the master leaves although it is not its turn. Others may leave at the
// same time; it must return only if no server is left.
func (d *Departure) Late() { d.length, d.window = 0, time.Time{} }

// Left notes when the hold took effect.
func (d *Departure) Left(at time.Time) { d.left = at }

// Collision returns the balancers that have lost another server together with this
// one: within a window, or at any time if none is left. Behind gates, where no balancer asks
// for catalogs, it returns an obstacle if no other master is left. The master must return then.
func (d *Departure) Collision(s api.Status) (list []api.Obstacle) {
	if d.left.IsZero() {
		return nil
	}
	d.none = ""
	for _, was := range sendingHere(d.before, d.Service) {
		b, asks := find(s, was)
		if !asks || was.Others() == 0 || !b.Seen.After(d.left) {
			continue
		}
		switch none := b.View.WeightTotal == 0; {
		case none || b.Others() == 0 && !hidden(b, drain.Drain):
			d.none = "balancer " + b.Label() + " has no other server left"
			list = append(list, obstacle(api.ObstacleCollision, b.Label(), "%s", d.none))
		case s.Time.Before(d.left.Add(d.length)) && b.Lost(was.Others()) && !hidden(b, drain.Drain):
			list = append(list, obstacle(api.ObstacleCollision, b.Label(),
				"balancer %s has lost another server at the same time", b.Label()))
		}
	}
	alone := lastOfFleet(s, d.Service)
	if alone != "" && others(d.before) != nil && lastOfFleet(d.before, d.Service) == "" {
		d.none = alone
		list = append(list, obstacle(api.ObstacleCollision, "", "%s", alone))
	}
	return list
}

// Collided reports whether obstacles are those of a Collision.
func Collided(list []api.Obstacle) bool {
	return len(list) > 0 && list[0].Kind == api.ObstacleCollision
}

// Unsettled returns what is in the way of a master that has left until no other one can
// leave in the same window.
func (d *Departure) Unsettled(s api.Status) []api.Obstacle {
	seen := len(sendingHere(d.before, d.Service)) > 0 || // by a balancer, which would tell of a collision
		d.drawn && others(d.before) != nil // by the fleet; a window of its own needs no other sign
	if d.left.IsZero() || !seen || !s.Time.Before(d.left.Add(d.length)) {
		return nil
	}
	return []api.Obstacle{obstacle(api.ObstacleWindow, "", "another server may still leave at the same time")}
}

// Returned notes that the hold was lifted because of a collision: the next try is later.
func (d *Departure) Returned() {
	d.tries++
	d.left, d.window = time.Time{}, time.Time{}
	d.back = sendingHere(d.before, d.Service)
}

// notBack returns the balancers that do not send again after a collision. What they
// say of other servers does not count until they do.
func (d *Departure) notBack(s api.Status) (list []api.Obstacle) {
	for _, was := range d.back {
		v, _ := s.Service(was.Service)
		if b, asks := find(s, was); asks && !b.View.Sends() && v.Verdict.Health.Serves() {
			list = append(list, obstacle(api.ObstacleNotSending, b.Label(), "%s does not send yet (%s)", b.Label(), b.View))
		}
	}
	return list
}

// find returns what a balancer of an earlier status says now.
func find(s api.Status, was api.Balancer) (api.Balancer, bool) {
	for _, b := range s.Balancers {
		if b.Source == was.Source && b.Node == was.Node && b.Name == was.Name && b.Service == was.Service {
			return b, b.View != nil
		}
	}
	return was, false
}

// young returns the balancers whose view may be out of date, because they have asked only
// once or have missed a check, and what a daemon that has just started does not know yet.
func young(s api.Status, service string) (list []api.Obstacle) {
	sending := sendingHere(s, service)
	for _, b := range sending {
		silent := s.Time.Sub(b.Seen)
		switch {
		case b.Interval == 0:
			list = append(list, obstacle(api.ObstacleUnseen, b.Label(), "%s has asked only once", b.Label()))
		case silent.Seconds() > 1.5*b.Interval+1:
			list = append(list, obstacle(api.ObstacleUnseen, b.Label(), "%s has not asked for %s", b.Label(), text.Age(silent)))
		}
	}
	return slices.Concat(list, unheard(s), unasked(s, service))
}

// Alone says why a master that is not replaced serves until it stops.
func (d *Departure) Alone() string {
	if d.none != "" {
		return d.none
	}
	if alone := lastOfFleet(d.before, d.Service); alone != "" {
		return alone
	}
	for _, b := range sendingHere(d.before, d.Service) {
		if b.Others() == 0 {
			return "balancer " + b.Label() + " has no other server, and a drain would only make the outage longer"
		}
	}
	return ""
}
