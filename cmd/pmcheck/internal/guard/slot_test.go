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
// stopped in the same second, and their balancer sends no view: there are no windows.
func TestMastersWithoutASlotDoNotLeaveTogether(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		shutdown bool
		apart    time.Duration // at least
	}{
		{"restarts", false, 90 * time.Second},
		{"reboots", true, 40 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var left [2]time.Duration
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
						g.HostStops(began)
					}
					g.Slot = &wait.Slot{Budget: func(_ context.Context, want budget.Claim) (budget.View, error) {
						if !want.Force {
							dead := budget.Slot{Master: "m3", Since: began, By: "guard"}
							return budget.View{}, &budget.TakenError{Slots: []budget.Slot{dead}, Allowed: 1}
						}
						left[i] = time.Since(began)
						return budget.View{}, nil
					}}
					stops.Go(func() {
						if err := g.BeforeStop(t.Context()); err != nil && !errors.Is(err, guard.ErrNotIdle) {
							t.Error(err)
						}
					})
				}
				stops.Wait()
				if apart := (left[0] - left[1]).Abs(); apart < tt.apart {
					t.Errorf("they leave without a slot after %v and %v, want %v apart", left[0], left[1], tt.apart)
				}
				for i := range out {
					if want := "goes on without a slot: m3 is out since "; !strings.Contains(out[i].String(), want) {
						t.Errorf("it does not say %q:\n%s", want, &out[i])
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
