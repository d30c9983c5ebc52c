package guard_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/guard"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/wait"
	"github.com/pmcheck/pmcheck/drain"
)

// A master that has died keeps the only slot for longer than the turns of two others that are
// stopped in the same second, or the database is gone, and their balancer sends no view: there
// are no windows.
func TestMastersWithoutASlotDoNotLeaveTogether(t *testing.T) {
	t.Parallel()
	dead := budget.Slot{Master: "m3", Since: time.Now(), By: "guard"}
	taken := &budget.TakenError{Slots: []budget.Slot{dead}, Allowed: 1}
	const without = "goes on without a slot: m3 is out since "
	for _, tt := range []struct {
		name     string
		refusal  error
		shutdown bool
		apart    time.Duration // at least
		says     string
	}{
		{"restarts", taken, false, 90 * time.Second, without},
		{"reboots", taken, true, 40 * time.Second, without},
		{"restarts without a database", budget.ErrUnreachable, false, 3 * time.Minute, "goes on without the budget: "},
		{"reboots without a database", budget.ErrUnreachable, true, 40 * time.Second, "goes on without the budget: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var left [2]time.Time
				var out [2]strings.Builder
				var stops sync.WaitGroup
				for i, lot := range []float64{0.1, 0.9} {
					c := settings(t)
					g := newGuard(t, c, &out[i], func() *api.Status {
						mode, _ := c.Store().Read().Mode(monitor.Server, time.Now())
						return withoutView(mode)
					})
					g.Lot(lot)
					if tt.shutdown {
						g.HostStops(time.Now())
					}
					g.Slot = &wait.Slot{Budget: func(_ context.Context, want budget.Claim) (budget.View, error) {
						if want.Force && tt.refusal == taken {
							return budget.View{}, nil
						}
						return budget.View{}, tt.refusal
					}}
					stops.Go(func() {
						if err := g.BeforeStop(t.Context()); err != nil && !errors.Is(err, guard.ErrNotIdle) {
							t.Error(err)
						}
						for _, h := range c.Store().Read().Holds() {
							left[i] = h.Since
						}
					})
				}
				stops.Wait()
				if apart := left[0].Sub(left[1]).Abs(); apart < tt.apart {
					t.Errorf("they leave without a slot at %v and %v, want %v apart", left[0], left[1], tt.apart)
				}
				for i := range out {
					if !strings.Contains(out[i].String(), tt.says) {
						t.Errorf("it does not say %q:\n%s", tt.says, &out[i])
					}
				}
			})
		})
	}
}

// withoutView is the status of a master whose balancer does not send its view.
func withoutView(mode drain.Mode) *api.Status {
	s := status(mode, 0, 0)
	b := &s.Balancers[0]
	b.View, b.Answer, b.Answers = nil, balancer.Told{Code: 200}, 9
	if mode == drain.Drain {
		b.Answer.Code = 404
	}
	return s
}
