package leave

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// Holds are the holds of this host: a drain.Store.
type Holds interface {
	Change(holder string, service drain.Service, next func(old drain.Hold) (drain.Hold, error)) (drain.Hold, error)
	Read() drain.Snapshot
}

// World is what the way out and the way back see and change.
type World struct {
	// Status returns the daemon's status. The error wraps client.ErrNoDaemon if no daemon answers within
	// client.AskTime.
	Status func(ctx context.Context) (status.Status, error)
	// Every is the pause between two looks.
	Every time.Duration
	// Runs reports whether a daemon that does not answer runs nevertheless.
	Runs func(ctx context.Context) bool
	// Connections returns the connections to the master's port, as the kernel knows them. probed is the address that the
	// daemon probes; empty if it has never answered.
	Connections func(probed string) ([]sockets.Connection, error)
	Holds       Holds

	// MaxOut is how many masters of a fleet may be out.
	MaxOut answer.MaxOut
	// Claim claims a slot, see budget.Client; nil without a budget. It returns within budget.Timeout. Its error is a
	// budget.TakenError, or wraps budget.ErrUnreachable.
	Claim func(ctx context.Context, want budget.Claim) error
	// Fleet asks the other masters, see fleet.Asker; nil if no fleet is known.
	Fleet func(ctx context.Context) (others []fleet.Witness, place int)

	// Say shows what is waited for.
	Say func(line string)
	// Note shows what has been decided.
	Note func(line string)
	// Changed, if set, shows a hold that was "held" or "lifted".
	Changed func(what string, h drain.Hold)
}

// pause blocks for d, or until ctx ends. It is the only place that sleeps.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
