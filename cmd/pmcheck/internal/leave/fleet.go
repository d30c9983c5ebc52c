package leave

import (
	"context"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/obstacle"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// turnPause is the difference of the pauses of two masters: the longest answer, 2 s, and some time for the daemon to
	// notice a hold.
	turnPause = 2500 * time.Millisecond
	// muteTime is how long a fleet that is silent as a whole delays a master whose balancers show other servers.
	muteTime = 30 * time.Second
)

// asksFleet reports whether the fleet is asked about a service in a mode: unless views of balancers that the
// configuration names decide. A budget that counts is asked instead of the fleet.
func (w World) asksFleet(s status.Status, service drain.Service, mode drain.Mode) bool {
	return w.Fleet != nil && status.Budgeted(service) && !s.Balancers.Decide(drain.Master, mode, s.Time)
}

// A fleetTurn is a departure's turn in its fleet.
type fleetTurn struct {
	departure *departure
	paused    bool      // the others let the master go, and it has paused since
	muteSince time.Time // since when no other master answers
	named     string    // the silent members that were named last
}

// askFleet asks the second witness: the other masters. It blocks until they can do without this one.
func (d *departure) askFleet(ctx context.Context) error {
	if !d.world.asksFleet(d.seen.status, d.want.Hold.Service, d.want.Hold.Mode) {
		return nil
	}

	f := &fleetTurn{departure: d}
	left, err := d.wait(ctx, phaseFleet, 0, f.look)
	if err == nil && left != nil {
		d.world.Note("goes on without the fleet: " + obstacle.Summary(left))
	}
	return err
}

// look asks the others. They must let this master go at two looks: masters that leave at the same time pause for
// different times in between. If something follows the hold blindly, the others must let the master go once more when
// the hold is in effect: of two masters that hold in the same moment, at least one sees the other.
func (f *fleetTurn) look(ctx context.Context) ([]status.Obstacle, error) {
	d := f.departure
	d.seen.next(ctx) // what balancers show may forbid the way out meanwhile
	others, place := d.world.Fleet(ctx)
	d.others = fleet.Judge(others, d.world.MaxOut)
	f.nameSilent()
	d.patience.noteFleet(d.others.Out, d.others.Others)

	list := f.obstacles()
	if isLast(list) {
		return nil, d.isLastOfFleet(list)
	}
	if len(list) > 0 {
		// A hold that was set for the last look is lifted, and the looks begin again.
		f.paused = false
		err := d.retreat()
		f.pause(ctx, turnPause)
		return list, err
	}

	if !f.paused {
		f.paused = true
		again := turnPause * time.Duration(place%fleet.Turns)
		f.pause(ctx, again)
		return obstacle.Only(obstacle.Turn, "asks the fleet again in %s", again), nil
	}

	if !d.followedBlindly() || d.inEffect() {
		return nil, nil
	}
	if d.set.Mode == "" {
		if err := d.hold(drain.LeavingInTurn); err != nil {
			return nil, err
		}
	}
	return obstacle.Only(obstacle.Turn, "asks the fleet once more, held"), nil
}

// isLastOfFleet refuses a command. A stop goes on: no other master will let it go.
func (d *departure) isLastOfFleet(list []status.Obstacle) error {
	if d.party.insists() {
		d.world.Note("does not wait for the fleet: " + obstacle.Summary(list))
		return nil
	}
	return &Error{Kind: Refused, Text: "must stay in service", Left: list}
}

// obstacles returns what the fleet says, as far as it counts beside what balancers show.
func (f *fleetTurn) obstacles() []status.Obstacle {
	d := f.departure
	isPooled := len(d.hearing().Pool(d.seen.status.Time)) > 0

	// Where the daemon's rule protects the pool, nobody waits for a fleet that is silent as a whole: its allow perhaps
	// names balancers only. The rule does not protect from what follows the hold blindly.
	isMute := f.muteFor() >= muteTime
	if isMute && isPooled && !d.followedBlindly() {
		return nil
	}

	// A master that has been leaving for balancer.ExpectedBack, as a stranger can bring about, looks gone to the others,
	// but not to its balancers. A stop goes on waiting for its turn then.
	list := d.others.Obstacles
	if isLast(list) && isPooled && d.party.insists() {
		return obstacle.Only(obstacle.Turn, "%s, but a balancer has another server", list[0].Text)
	}
	return list
}

// isLast reports whether no other master of the fleet serves, or is expected to.
func isLast(list []status.Obstacle) bool {
	return len(list) > 0 && list[0].Kind == obstacle.Last
}

// muteFor returns for how long no other master has answered.
func (f *fleetTurn) muteFor() time.Duration {
	seen := f.departure.others
	isMute := seen.Others > 0 && len(seen.Silent) == seen.Others
	if !isMute {
		f.muteSince = time.Time{}
		return 0
	}
	if f.muteSince.IsZero() {
		f.muteSince = time.Now()
	}
	return time.Since(f.muteSince)
}

// nameSilent names the members that do not answer, whenever they are others than before.
func (f *fleetTurn) nameSilent() {
	line := strings.Join(f.departure.others.Silent, ", ")
	if line != "" && line != f.named {
		f.departure.world.Note("of the fleet do not answer: " + line)
	}
	f.named = line
}

// pause waits before the next look, but not beyond the end of the phase.
func (f *fleetTurn) pause(ctx context.Context, d time.Duration) {
	pause(ctx, min(d, time.Until(f.departure.party.end(phaseFleet))))
}

// followedBlindly reports whether something follows the hold as soon as it is written: a balancer without a view, or
// the gate. Of a silent daemon it is assumed.
func (d *departure) followedBlindly() bool {
	s := d.seen.status
	return d.seen.silent() || len(d.hearing().Blind()) > 0 || s.Gate.Runs(s.Time)
}

// inEffect reports whether the daemon acts on the hold. Of a silent daemon it is assumed.
func (d *departure) inEffect() bool {
	if d.set.Mode == "" {
		return false
	}
	v, _ := d.seen.status.Service(d.want.Hold.Service.Shown())
	return d.seen.silent() || v.Mode != drain.Ready
}
