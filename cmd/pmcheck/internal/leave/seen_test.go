package leave_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
	"github.com/pmcheck/pmcheck/drain"
)

func longNames(s *shape) { s.longNames = true }

// TestABalancerWhoseViewCannotBeReadKeepsTheMaster: it may be its last server. The command says which balancer it is.
func TestABalancerWhoseViewCannotBeReadKeepsTheMaster(t *testing.T) {
	for name, s := range map[string]shape{
		"the last server": ordinary(1, turns, longNames),
		"one of two":      ordinary(2, turns, longNames),
	} {
		t.Run(name, func(t *testing.T) {
			s.run(t, func(ctx context.Context, p *pool) {
				set, err := leave.Out(ctx, p.members[0].world(), command())
				refused, is := errors.AsType[*leave.Error](err)
				if !is || refused.Kind != leave.Refused || !strings.Contains(err.Error(), "cannot be read") || set.Mode != "" {
					t.Errorf("%v, %v; want that the view cannot be read", set, err)
				}
				p.assertNoOutage(t)
			})
		})
	}
}

// TestTwoHAProxiesWithOneNameBothLetGo: containers behind NAT may have the same node, backend and address. Here one
// asks every 2 s, the other every 2.6 s.
func TestTwoHAProxiesWithOneNameBothLetGo(t *testing.T) {
	twins := func(s *shape) { s.balancers, s.twins = 2, true }
	plain := func(s *shape) { s.DisableOn404 = false }
	for name, s := range map[string]shape{
		"turns":       ordinary(2, turns, twins),
		"turns, 503":  ordinary(2, turns, twins, plain),
		"budget":      ordinary(2, twins, func(s *shape) { s.budget = true }),
		"budget, 503": ordinary(2, twins, plain, func(s *shape) { s.budget = true }),
	} {
		t.Run(name, func(t *testing.T) {
			for _, seed := range seeds(12) {
				s.runWith(seed, t, func(ctx context.Context, p *pool) {
					began := time.Now()
					if _, err := leave.Out(ctx, p.members[0].world(), command()); err != nil {
						t.Errorf("seed %d: %v", p.seed, err)
					}
					for i, b := range p.backends {
						if state := b.State(b.Servers[0]); state == haproxy.Up {
							t.Errorf("seed %d: drained after %s, and HAProxy %d has it %s", p.seed, time.Since(began), i, state)
						}
					}
				})
			}
		})
	}
}

// TestHAProxyWithALongDowninter: a master that HAProxy has DOWN has left, although HAProxy says so minutes later; and
// it is not back before HAProxy has it UP again.
func TestHAProxyWithALongDowninter(t *testing.T) {
	s := ordinary(2, func(s *shape) { s.DisableOn404, s.DownInter = false, 3*time.Minute })
	for _, held := range []time.Duration{time.Second, 100 * time.Second, 4 * time.Minute} {
		s.run(t, func(ctx context.Context, p *pool) {
			m := p.members[0]
			for _, round := range []string{"first", "second"} {
				began := time.Now()
				if _, err := leave.Out(ctx, m.world(), command()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("%s time: drained after %s", round, took)
				}
				if state := p.state(0); state != haproxy.Down {
					t.Errorf("%s time: drained, and HAProxy has it %s", round, state)
				}

				time.Sleep(held)
				if err := m.liftAll(); err != nil {
					t.Fatal(err)
				}
				if err := m.world().InService(ctx, drain.Master, 10*time.Minute); err != nil {
					t.Errorf("%s time, held for %s: %v", round, held, err)
				}
				if state := p.state(0); state != haproxy.Up {
					t.Errorf("%s time, held for %s: back in service, and HAProxy has it %s", round, held, state)
				}
			}
		})
	}
}

// TestALastServerStaysThatIsCheckedInTheBackendForTurnsAlone: the servers of the pool's backend track it.
func TestALastServerStaysThatIsCheckedInTheBackendForTurnsAlone(t *testing.T) {
	s := ordinary(1, turns, func(s *shape) { s.tracks = true })
	s.run(t, func(ctx context.Context, p *pool) {
		_, err := leave.Out(ctx, p.members[0].world(), command())
		if refused, is := errors.AsType[*leave.Error](err); !is || refused.Kind != leave.Refused {
			t.Errorf("%v, want that it is refused", err)
		}
		p.assertNoOutage(t)
	})
}
