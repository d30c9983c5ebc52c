package budget

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

const (
	// askEvery is the longest time between two questions to the database, whose answers the
	// status shows. With a short budget.lapse it is a sixth of that.
	askEvery = time.Minute
	// askAgain is the pause after a question that was not answered.
	askAgain = 10 * time.Second
)

// Status is the budget of the pool as the daemon saw it last. It is also the JSON.
type Status struct {
	Pool string `json:"pool"` // the masters that share the budget
	Usage
	// Reachable says whether the database answered the last question. While it does not, the rest is its last answer.
	Reachable bool      `json:"reachable"`
	Since     time.Time `json:"since"`           // when it began to answer, or not to answer
	Asked     time.Time `json:"asked"`           // when it was asked last
	Error     string    `json:"error,omitempty"` // why it did not answer
}

// Step is what is done about the slot of this master.
type Step string

// The steps.
const (
	Look   Step = "look"   // only see which masters are out
	Renew  Step = "renew"  // the master is out, or not yet back
	Return Step = "return" // the master has been back for Settle, and balancers send
)

// database is the part of a Client that a Keeper needs.
type database interface {
	Look(ctx context.Context) (Usage, error)
	Renew(ctx context.Context, reason string) (Usage, error)
	Return(ctx context.Context) (Usage, error)
}

// A Keeper keeps the slot of this master up to date with one configuration. It belongs to one goroutine, and nothing
// waits for it.
type Keeper struct {
	settings config.Budget
	client   database
	step     Step      // that was taken last
	next     time.Time // when to ask if the step stays the same
}

// NewKeeper returns a keeper that asks at once.
func NewKeeper(c config.Config) *Keeper { return &Keeper{settings: c.Budget, client: New(c)} }

// Keep takes a step if it is due: the first time, after a change of the step or of the mode, and after its pause. It
// returns what is known then, from what was known before, and the error of the database or of ctx. asked is false if no
// step was due, or ctx has ended.
func (k *Keeper) Keep(ctx context.Context, before Status, step Step, reason string, modeSince time.Time) (
	known Status, asked bool, err error) {
	// A hold may have been set, with a slot, and lifted.
	modeChanged := modeSince.After(before.Asked)
	isNews := step != k.step || modeChanged
	if !isNews && time.Now().Before(k.next) {
		return before, false, nil
	}

	usage, err := k.take(ctx, step, reason)
	if ctx.Err() != nil {
		return before, false, ctx.Err()
	}
	known = k.learn(before, usage, err)
	k.step = step
	k.next = known.Asked.Add(k.pause(step, known))
	return known, true, err
}

// learn returns what is known of the budget after a question. If the database did not answer, its last answer stays.
func (k *Keeper) learn(before Status, usage Usage, err error) Status {
	known := before
	known.Pool = k.settings.Pool
	known.Asked = time.Now()
	known.Reachable = err == nil

	if known.Reachable {
		known.Usage = usage
		known.Error = ""
	} else {
		known.Error = err.Error()
	}

	first := before.Asked.IsZero()
	if first || known.Reachable != before.Reachable {
		known.Since = known.Asked
	}
	return known
}

// pause returns how long the next question can wait, if nothing happens.
func (k *Keeper) pause(step Step, known Status) time.Duration {
	if !known.Reachable {
		return askAgain
	}

	// The database does not take a claim back that is younger than Settle.
	isYoung := step == Return && known.HasSlot
	if isYoung {
		return Settle
	}
	return min(k.settings.Lapse/6, askEvery)
}

// take takes a step in the database, and returns what it says of the pool.
func (k *Keeper) take(ctx context.Context, step Step, reason string) (Usage, error) {
	switch step {
	case Renew:
		return k.client.Renew(ctx, reason)
	case Return:
		return k.client.Return(ctx)
	}
	return k.client.Look(ctx)
}
