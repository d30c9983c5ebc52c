package wait

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/user"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

// claimEvery is how often a slot in the budget is claimed while others have it.
const claimEvery = 2 * time.Second

// Slot claims a slot in the budget before a hold is set. The nil Slot needs none: it
// claims nothing, and never fails.
type Slot struct {
	// Budget is how to claim it, as budget.Client does.
	Budget func(context.Context, budget.Claim) (budget.View, error)

	out    func() bool // whether a hold has the master out; nil: it has not
	daemon api.Client
	hold   drain.Hold
	lost   error // why the budget could not be asked the last time
}

// NeedsSlot reports whether a hold needs a slot, unless another one has the master out already.
func NeedsSlot(c config.Config, h drain.Hold) bool {
	return c.Budget.Database != "" && rotation.Budgeted(h.Service)
}

// Out reports whether a hold has the master out now.
func Out(c config.Config) bool { return rotation.HeldOut(c.Store().Read().At(time.Now()).Holds()) }

// NewSlot returns the slot for a hold. The configuration must have a budget.
func NewSlot(c config.Config, h drain.Hold) *Slot {
	return &Slot{
		Budget: budget.New(c).Claim,
		out:    func() bool { return Out(c) },
		daemon: api.Client{Socket: c.Socket},
		hold:   h,
	}
}

// Claim claims the slot, unless a hold has the master out already. The error wraps
// budget.ErrTaken or budget.ErrUnreachable.
func (s *Slot) Claim(ctx context.Context, force bool) error {
	if s == nil {
		return nil
	}
	s.lost = nil
	if s.out != nil && s.out() {
		return nil
	}
	_, err := s.Budget(ctx, budget.Claim{
		Reason: s.hold.Reason,
		By:     claimant(s.hold),
		Serves: s.serves(ctx),
		Force:  force,
	})
	if errors.Is(err, budget.ErrUnreachable) {
		s.lost = err
	}
	return err
}

// Lost returns why the budget could not be asked when the slot was claimed last; nil if
// it answered, or if a look of After has not come to the claim since: the error may be long over.
func (s *Slot) Lost() error {
	if s == nil {
		return nil
	}
	return s.lost
}

// After returns a Look that is look until nothing is in the way, and then claims the slot.
func (s *Slot) After(look Look) Look {
	return func(ctx context.Context) []api.Obstacle {
		list := look(ctx)
		if len(list) > 0 || ctx.Err() != nil {
			if s != nil {
				s.lost = nil
			}
			return list
		}
		err := s.Claim(ctx, false)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(claimEvery):
		}
		return []api.Obstacle{{Kind: api.ObstacleBudget, Text: err.Error()}}
	}
}

// Late is After for a stop whose turn has ended: from the moment at which the stop goes on
// without a slot, nothing but look is in the way.
func (s *Slot) Late(look Look, stop *rotation.Stop, g config.Guard) Look {
	after := s.After(look)
	return func(ctx context.Context) []api.Obstacle {
		if time.Now().Before(stop.SlotUntil(g)) {
			return after(ctx)
		}
		return look(ctx)
	}
}

// serves reports whether balancers are told to use this master. Without a daemon they get
// no answer, and do not use it.
func (s *Slot) serves(ctx context.Context) bool {
	status, err := s.daemon.Ask(ctx)
	return err == nil && status.Serves()
}

// claimant names the party that claims: the holder, or the user if the holder is the default.
func claimant(h drain.Hold) string {
	if h.Holder != drain.Operator {
		return h.Holder
	}
	name := os.Getenv("SUDO_USER")
	if u, err := user.Current(); err == nil {
		name = cmp.Or(name, u.Username)
	}
	return cmp.Or(name, h.Holder)
}
