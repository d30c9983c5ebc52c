package leave

import (
	"context"
	"errors"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Presence says whether a daemon runs, and answers.
type Presence int

// The presences.
const (
	DaemonAnswers Presence = iota
	DaemonPauses           // it does not answer, but for no longer than its restart takes
	DaemonSilent           // a process runs and does not answer: it may be telling balancers to use this master
	DaemonAbsent           // no process runs, and balancers see that
)

// Facts are what a departure sees in one look: nothing else is read.
type Facts struct {
	Now time.Time

	Daemon     Presence
	Unanswered error         // why the daemon has not answered in this look; nil if it has
	Lost       time.Time     // since when it does not answer; zero while it does
	Ran        time.Time     // when a process of it was last known to run
	Status     status.Status // its last status; zero if it has never answered

	HasBudget bool
	Slot      *SlotAnswer // of the budget, if the last step was to claim a slot
	HasFleet  bool
	Fleet     *FleetAnswer // of the other masters, if the last step was to ask them

	Own  drain.Hold // the hold of this departure as it was written last; zero while there is none
	Held time.Time  // when it was written first
	Gone bool       // another party has lifted or replaced it
	// Connections are those to the master once it is out. Uncounted says why they are not known.
	Connections []sockets.Connection
	Uncounted   error

	NoStop    error // ErrCancelled or ErrDied, once a service that was about to stop is not any more
	HostStops bool  // the service stops because the host shuts down
}

// SlotAnswer is the answer to a claim. Refusal is nil if there is a slot.
type SlotAnswer struct{ Refusal error }

// FleetAnswer is what the other masters say.
type FleetAnswer struct {
	fleet.Tally
	Place int // how many masters are sorted before this one
}

// isSilent and isAbsent say why the daemon does not answer.
func (f Facts) isSilent() bool { return f.Daemon == DaemonSilent }
func (f Facts) isAbsent() bool { return f.Daemon == DaemonAbsent }

// unansweredSince returns since when balancers may find no daemon that uses this master.
func (f Facts) unansweredSince() time.Time {
	if f.isAbsent() {
		return f.Ran
	}

	// A silent daemon may answer balancers by the hold, once that is written.
	if f.isSilent() && f.Held.After(f.Lost) {
		return f.Held
	}
	return f.Lost
}

// agents returns the connections that may be agents'. If a silent daemon did not say last which connection is its own,
// all from this host are left out: its own one would look like an agent's until the wait is over.
func (f Facts) agents() []sockets.Connection {
	saysWhich := len(f.Status.Probe.Connections) > 0
	if !f.isSilent() || saysWhich {
		return f.Connections
	}
	var fromElsewhere []sockets.Connection
	for _, c := range f.Connections {
		if c.Peer.Addr() != c.Local {
			fromElsewhere = append(fromElsewhere, c)
		}
	}
	return fromElsewhere
}

// errNotCounted is why the connections are not known before the master is out.
var errNotCounted = errors.New("the connections of the master have not been counted yet")

// observe looks at everything. What the last step asked of the budget or the fleet is in seen already.
func (d *departure) observe(ctx context.Context) Facts {
	f := &d.seen
	f.HasBudget = d.world.Claim != nil
	f.HasFleet = d.world.Fleet != nil

	if d.want.Stop != nil {
		f.HostStops, f.NoStop = d.want.Stop.check(ctx)
	}
	d.observeDaemon(ctx)
	if f.Own.Mode != "" {
		f.Gone = d.world.Holds.Read().Lacks(f.Own)
	}
	f.Connections, f.Uncounted = nil, errNotCounted
	if d.state.isOut() { // the kernel walks through all its sockets
		f.Connections, f.Uncounted = d.world.Connections(f.Status.Probe.Address)
	}
	f.Now = time.Now()

	seen := *f
	f.Slot = nil
	f.Fleet = nil
	return seen
}

// observeDaemon reads the next status.
func (d *departure) observeDaemon(ctx context.Context) {
	f := &d.seen
	s, err := d.world.Status(ctx)
	now := time.Now()
	f.Unanswered = err
	if err == nil {
		f.Status = s
		f.Daemon = DaemonAnswers
		f.Lost = time.Time{}
		f.Ran = now
		return
	}

	if f.Lost.IsZero() {
		f.Lost = now
	}
	// A daemon that has never answered may have run until now.
	if f.Ran.IsZero() {
		f.Ran = f.Lost
	}
	f.Daemon = d.classify(ctx, err)
	if f.isSilent() {
		f.Ran = time.Now()
	}
}

// classify returns the presence of a daemon that has not answered.
func (d *departure) classify(ctx context.Context, err error) Presence {
	if time.Since(d.seen.Lost) < daemonTime {
		return DaemonPauses
	}

	// A process has sent the answer that cannot be read.
	isUnreadable := !errors.Is(err, client.ErrNoDaemon)
	if isUnreadable || d.world.Runs(ctx) {
		return DaemonSilent
	}
	return DaemonAbsent
}
