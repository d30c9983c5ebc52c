package leave

import (
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Consequence is what follows from a fact that speaks against leaving.
type Consequence int

// The consequences.
const (
	Refuse Consequence = iota // the way out ends with an error
	GoOn                      // the way out goes on nevertheless
)

// Policy is what a command and the stop of a service differ in. A command is refused if the pool needs the master. A
// stop happens in any case, and ends early only if it is cancelled or its hold is gone: it takes as much care as its
// time allows.
type Policy struct {
	Service drain.Service // what leaves
	Mode    drain.Mode    // what it leaves for

	// OnlyServer is what follows if a balancer has this master as its only server, and expects none back. If the way out
	// goes on, it does not wait for that balancer until the hold is firm.
	OnlyServer Consequence
	// NotKnown is what follows if the daemon, the budget's database or the fleet does not answer, or if no other master
	// of the fleet serves.
	NotKnown Consequence
	// Late is what follows if the time of a phase is over.
	Late Consequence

	Now           bool // budget and fleet are not asked, and no balancer is waited for
	Force         bool // the hold is firm from the start, whatever the budget says; the fleet is not asked
	Idle          bool // the last agent must have finished, too
	SkipsStranded bool // agents that can go nowhere else, or that no balancer could send elsewhere, are not waited for

	MustListen  time.Duration // how long a daemon must have listened to know its balancers
	AskDatabase time.Duration // how long a database that does not answer is asked again
	Whole       time.Duration // the time for all phases together; 0 if each has its own, by Limits
	Limits      config.Guard  // the times of the phases, if Whole is 0
	Lasts       time.Duration // how long the hold lasts from the moment that it is firm; 0: until Until
	Until       time.Time     // when the hold ends by itself, if Lasts is 0; zero means never
}

// policy returns the policy of a request.
func (r Request) policy() Policy {
	if r.Stop != nil {
		return stopPolicy(r)
	}
	return commandPolicy(r)
}

// commandPolicy is that of a command, which ends with an error as soon as something speaks against it.
func commandPolicy(r Request) Policy {
	p := Policy{
		Service:    r.Hold.Service,
		Mode:       r.Hold.Mode,
		OnlyServer: Refuse,
		NotKnown:   Refuse,
		Late:       Refuse,
		Now:        r.Now,
		Force:      r.Force,
		Idle:       r.Idle,
		MustListen: status.HeardAll,
		Whole:      r.Wait,
		Lasts:      r.For,
		Until:      r.Hold.Until,
	}
	if r.Force {
		p.OnlyServer = GoOn
	}
	if r.Force || r.Now {
		p.NotKnown = GoOn
	}
	return p
}

// stopPolicy is that of a service that stops or reloads in any case. A restart by systemctl whose turn does not come,
// with guard.turn 20m and guard.wait 5m:
//
//	 0 s  the guard waits until the daemon may know its balancers, for 15 s at most
//	      then for a slot of the budget or, without one, for the fleet
//	      the hold is leaving: each balancer lets go as soon as it can do without this master
//	20 m  its turn is over: balancers let go that have another server. A slot would have begun it anew
//	      agents finish their runs
//	25 m  the hold is firm: the balancers that are left are told, for 10 s at most
//	      the service stops and starts; Back lifts the hold once it serves
func stopPolicy(r Request) Policy {
	return Policy{
		Service:       r.Hold.Service,
		Mode:          r.Hold.Mode,
		OnlyServer:    GoOn,
		NotKnown:      GoOn,
		Late:          GoOn,
		Idle:          r.Idle,
		SkipsStranded: true,
		MustListen:    status.HeardUsual,
		AskDatabase:   databaseTime,
		Limits:        r.Stop.Limits,
		Lasts:         longestStart, // a hold whose lift is lost ends by itself
	}
}

// until returns when a hold of this level must end by itself; zero means never. A hold that is leaving becomes firm
// when the way out is over, at the latest.
func (p Policy) until(level drain.Leaving, began, now time.Time) time.Time {
	if p.Lasts == 0 {
		return p.Until
	}
	if level == drain.Firm {
		return now.Add(p.Lasts)
	}
	if p.Whole > 0 {
		return began.Add(p.Whole + p.Lasts)
	}
	return now.Add(LongestTurn + p.Limits.Wait + lastTime + p.Lasts)
}
