package guard_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

// m1 and m2 have no balancer, but gates. m1 stops while m2 is out from and until some time after
// that. Agents need 40 s to leave m1, and its gate opens when m2 is known to be out.
func TestAStopBehindAGateDoesNotLeaveThePoolWithoutAMaster(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		from, until time.Duration
		says        []string
		min, max    time.Duration // that the stop takes
	}{
		{"m2 serves", time.Hour, time.Hour, []string{"idle"}, 40 * time.Second, 75 * time.Second},
		{"m2 has been out for long", -time.Hour, time.Hour,
			[]string{"not drained, serves until it stops: no other master of the fleet serves: m2"}, 0, 5 * time.Second},
		{"m2 fails while m1 drains, and comes back", 45 * time.Second, 2 * time.Minute,
			[]string{"goes back into service: no other master of the fleet serves: m2", "idle"},
			160 * time.Second, 230 * time.Second}, // in one of the next two windows of its own
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now().Add(2 * time.Second) // after the first window of m1
				c, out := settings(t), &strings.Builder{}
				var mu sync.Mutex
				var held time.Time
				g := newGuard(t, c, out, func() *api.Status {
					mu.Lock()
					defer mu.Unlock()
					now := time.Now()
					mode, _ := c.Store().Read().Mode(monitor.Server, now)
					if mode == drain.Ready {
						held = time.Time{}
					} else if held.IsZero() {
						held = now
					}
					return behindGate(mode, held, now.Sub(began.Add(tt.from)), now.After(began.Add(tt.until)))
				})
				time.Sleep(time.Until(began))
				if err := g.BeforeStop(t.Context()); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took < tt.min || took > tt.max {
					t.Errorf("it stops after %v, want %v to %v:\n%s", took, tt.min, tt.max, out)
				}
				rest := out.String()
				for _, want := range tt.says {
					_, after, found := strings.Cut(rest, want)
					if rest = after; !found {
						t.Errorf("it does not say %q next:\n%s", want, out)
					}
				}
			})
		})
	}
}

// behindGate is the status of m1, held since then, while m2 has been out for some time.
func behindGate(mode drain.Mode, held time.Time, out time.Duration, back bool) *api.Status {
	s := status(mode, 0, 0)
	s.Balancers, s.Fleet = nil, []string{"m1", "m2"}
	s.Others = &api.OthersStatus{Asked: s.Time}
	m2 := []string{"m2"}
	if out > 0 && out < 15*time.Minute && !back {
		s.Others.Missing = m2
	}
	if out > 10*time.Second && !back {
		s.Others.Out = m2
	} else {
		s.Others.Serving = m2
	}
	s.Gate = &api.GateStatus{Looked: s.Time, Closed: mode == drain.Drain && rotation.Alone(*s) == ""}
	if pool := s.Services[0].Checks[0].Pool; !held.IsZero() && s.Time.Sub(held) < 40*time.Second {
		pool.Borrowed = []check.Loan{{Request: "POST /puppet/v3/catalog/web1"}}
	}
	return s
}
