package guard_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/guard"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// While the host shuts down, the time that is kept back for agents is used: by a master that
// is not drained because no other server is left, and after a collision.
func TestAShutdownLeavesNoTimeUnused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		// others is the weight of the other servers, of which one more is expected back, during
		// the first drain, before it and after it.
		others func(drains int, drained bool) int
		drains int
		says   string
	}{
		{"no other server is left", func(int, bool) int { return 0 }, 0, "not drained, serves until it stops"},
		{"another one leaves at the same time", func(drains int, drained bool) int {
			if drains == 1 && drained {
				return 0
			}
			return 100
		}, 2, "goes back into service"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := settings(t)
				c.Guard.Shutdown = 4 * time.Second
				var drains atomic.Int64
				var before atomic.Bool
				var out strings.Builder
				g := newGuard(t, c, &out, func() *api.Status {
					mode, _ := c.Store().Read().Mode(monitor.Server, time.Now())
					drained := mode == drain.Drain
					if before.Swap(drained) != drained && drained {
						drains.Add(1)
					}
					return status(mode, tt.others(int(drains.Load()), false), tt.others(int(drains.Load()), drained))
				})
				began := time.Now()
				g.HostStops(began)
				if err := g.BeforeStop(t.Context()); err != nil && !errors.Is(err, guard.ErrNotIdle) {
					t.Fatal(err)
				}
				if took := time.Since(began); tt.drains == 0 && took < 3600*time.Millisecond {
					t.Errorf("it stops after %v of 4s, with no other server", took)
				}
				if n := strings.Count(out.String(), "held: "); n != tt.drains || !strings.Contains(out.String(), tt.says) {
					t.Errorf("drained %d times, want %d, and %q:\n%s", n, tt.drains, tt.says, &out)
				}
			})
		})
	}
}

// status returns the status of a master whose balancer follows a hold at once. before and
// others are the weights of the other servers without a hold and now.
func status(mode drain.Mode, before, others int) *api.Status {
	now := time.Now()
	view := &api.View{State: "UP", Weight: 100, WeightTotal: 100 + others}
	if mode == drain.Drain {
		view.State, view.WeightTotal = "NOLB", others
	}
	return &api.Status{
		Time:     now,
		Started:  now.Add(-time.Hour),
		Certname: "m1",
		Balancers: []api.Balancer{{
			Node:         "lb1",
			Service:      monitor.Server,
			Seen:         now,
			Checks:       9,
			Interval:     0.1,
			DrainCode:    http.StatusNotFound,
			OthersWeight: before + 100,
			OthersSeen:   now.Add(-time.Second),
			UnitWeight:   100,
			View:         view,
		}},
		Services: []api.ServiceStatus{{
			Name:    monitor.Server,
			Mode:    mode,
			Verdict: check.Verdict{Health: check.Healthy},
			Checks: []api.CheckStatus{{Finding: check.Finding{
				Check:   check.CheckJRuby,
				Pool:    &check.Pool{Size: 1},
				Checked: now,
			}}},
		}},
		Probe: api.ProbeStatus{Address: "192.0.2.1:8140"},
	}
}
