package leave_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

func TestStops(t *testing.T) {
	for _, tt := range []struct {
		holder  string
		service systemd.Service
		want    bool
	}{
		{drain.Guard, systemd.Service{MainPID: 7}, false}, // the guard alone is stopped
		{drain.Guard, systemd.Service{MainPID: 7, Job: "stop"}, true},
		{drain.Guard, systemd.Service{MainPID: 7, Job: "restart"}, true},
		{drain.Guard, systemd.Service{MainPID: 7, Job: "try-restart"}, true},
		{drain.Guard, systemd.Service{MainPID: 7, Job: "start"}, false},
		{drain.Guard, systemd.Service{MainPID: 7, Job: "reload"}, false},
		{drain.Guard, systemd.Service{SubState: "running", Job: "stop"}, true}, // it has several processes
		{drain.Guard, systemd.Service{SubState: "reload", Job: "restart"}, true},
		{drain.Guard, systemd.Service{MainPID: 7, HostStops: true}, true},
		{drain.Guard, systemd.Service{Job: "restart"}, false}, // it died
		{drain.Guard, systemd.Service{HostStops: true}, false},
		{drain.Reload, systemd.Service{MainPID: 7}, true}, // systemd does not always show the job
		{drain.Reload, systemd.Service{SubState: "dead"}, false},
	} {
		g := &leave.Guard{
			Holder: tt.holder,
			Ask:    func(context.Context, string) (systemd.Service, error) { return tt.service, nil },
		}
		if got := g.Stops(t.Context()); got != tt.want {
			t.Errorf("%s, %+v: %v, want %v", tt.holder, tt.service, got, tt.want)
		}
	}
}

func guardOf(holder string, state func() (systemd.Service, error)) *leave.Guard {
	return &leave.Guard{
		Unit:   "puppetserver",
		Holder: holder,
		Limits: limits(),
		Ask:    func(context.Context, string) (systemd.Service, error) { return state() },
	}
}

func (m *member) guard(holder string, state func() (systemd.Service, error)) *leave.Guard {
	g := guardOf(holder, state)
	g.World = m.world()
	return g
}

func restarting() (systemd.Service, error) { return systemd.Service{MainPID: 7, Job: "restart"}, nil }

func shuttingDown() (systemd.Service, error) {
	return systemd.Service{MainPID: 7, Job: "stop", HostStops: true}, nil
}

// TestGuard has a service stop or reload, whose state changes after 10 s. Its last agent needs a minute.
func TestGuard(t *testing.T) {
	stopping, reloading := systemd.Service{MainPID: 7, Job: "restart"}, systemd.Service{MainPID: 7, Job: "reload"}
	runs, died := systemd.Service{MainPID: 7}, systemd.Service{Job: "restart"}
	const firm, leaving, reload = `guard drain "";`, `guard drain "turn";`, `reload drain "";`
	for _, tt := range []struct {
		name   string
		holder string
		states [2]systemd.Service
		silent bool // at first
		err    error
		holds  string
	}{
		{name: "a restart", holder: drain.Guard, states: [2]systemd.Service{stopping, stopping}, holds: firm},
		{name: "a restart that is cancelled", holder: drain.Guard, states: [2]systemd.Service{stopping, runs},
			err: leave.ErrCancelled, holds: leaving},
		{name: "a process that dies", holder: drain.Guard, states: [2]systemd.Service{stopping, died},
			err: leave.ErrDied, holds: leaving},
		{name: "systemd is silent, then the stop goes on", holder: drain.Guard, silent: true,
			states: [2]systemd.Service{stopping, stopping}, holds: firm},
		{name: "systemd is silent, then there is no stop", holder: drain.Guard, silent: true,
			states: [2]systemd.Service{runs, runs}, err: leave.ErrCancelled, holds: leaving},
		{name: "a reload", holder: drain.Reload, states: [2]systemd.Service{reloading, reloading}, holds: reload},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ordinary(2).run(t, func(ctx context.Context, p *pool) {
				m, began := p.members[0], time.Now()
				m.worksUntil(began.Add(time.Minute))
				g := m.guard(tt.holder, func() (systemd.Service, error) {
					switch {
					case tt.silent && time.Since(began) < 20*time.Second:
						return systemd.Service{}, errors.New("systemd does not answer")
					case time.Since(began) < 10*time.Second:
						return tt.states[0], nil
					}
					return tt.states[1], nil
				})
				if !g.Stops(ctx) {
					t.Fatal("it does not stop")
				}
				if err := g.Out(ctx); !errors.Is(err, tt.err) || m.held() != tt.holds {
					t.Errorf("%v, held: %s", err, m.held())
				}
				for _, h := range m.Read().Holds() {
					if strings.Contains(h.Reason, "reload") != (tt.holder == drain.Reload) {
						t.Errorf("%s: %s", tt.holder, h.Reason)
					}
					if h.Until.IsZero() || h.Leaving != drain.Firm && h.Until.Before(began.Add(leave.LongestTurn)) {
						t.Errorf("a lift that is lost would not heal, or a wait outlasts its hold: it ends at %s", h.Until)
					}
				}
				if tt.holder == drain.Reload { // the next one is about to begin: its hold may be this one
					if err := g.Back(ctx); err != nil || m.held() != tt.holds {
						t.Errorf("between reloads: %v, held: %s", err, m.held())
					}
					g = m.guard(tt.holder, func() (systemd.Service, error) { return runs, nil })
				}
				if err := g.Back(ctx); err != nil || m.held() != "" {
					t.Errorf("back: %v, held: %s", err, m.held())
				}
			})
		})
	}
}

// TestAStartLiftsTheHoldOfAnInterruptedReload: a stop ends the units of a reload, whose hold is left to it.
func TestAStartLiftsTheHoldOfAnInterruptedReload(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		m := p.members[0]
		m.worksUntil(time.Now().Add(time.Minute))
		interrupted, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if err := m.guard(drain.Reload, restarting).Out(interrupted); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		stop := m.guard(drain.Guard, restarting)
		if err := stop.Out(ctx); err != nil || m.held() != `guard drain "";reload drain "turn";` {
			t.Errorf("%v, held: %s", err, m.held())
		}
		m.becomes(check.Unhealthy)
		time.AfterFunc(time.Minute, func() { m.becomes(check.Healthy) })
		if err := stop.Back(ctx); err != nil || m.held() != "" {
			t.Errorf("%v, held: %s", err, m.held())
		}
		time.Sleep(10 * time.Second)
		if p.state(0) != haproxy.Up {
			t.Errorf("it is %s", p.state(0))
		}
		p.assertNoOutage(t)
	})
}

// A process is a command or a guard that is killed at one of its steps: before it reads the status, and before and
// after it changes a hold.
type process struct {
	leave.World
	ctx  context.Context
	left int
	kill context.CancelFunc
}

func (p *process) step() error {
	if p.left--; p.left < 0 {
		p.kill()
	}
	return p.ctx.Err()
}

func (m *member) dies(ctx context.Context, after int) *process {
	w := m.world()
	p := &process{World: w, left: after}
	p.ctx, p.kill = context.WithCancel(ctx)
	p.Holds = &hooks{w.Holds, p.step, p.step}
	p.Status = func(ctx context.Context) (status.Status, error) {
		if err := p.step(); err != nil {
			return status.Status{}, err
		}
		return w.Status(ctx)
	}
	return p
}

// TestAKillHarmsNobody kills a process at each of its steps, and then has its master serve again: that of a guard
// with the next start, or if it is killed on the way back, when its hold ends; that of a command at once, if the
// pool needs it, while the hold is leaving.
func TestAKillHarmsNobody(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(ctx context.Context, p *pool, m *member, g *leave.Guard, killed *process){
		"the guard's way out": func(ctx context.Context, p *pool, m *member, g *leave.Guard, killed *process) {
			g.World = killed.World
			_ = g.Out(killed.ctx)
			m.isDown()
			if err := m.guard(drain.Guard, restarting).Back(ctx); err != nil {
				t.Error(err)
			}
			p.assertNoOutage(t)
		},
		"the guard's way back": func(ctx context.Context, p *pool, m *member, g *leave.Guard, killed *process) {
			if err := g.Out(ctx); err != nil {
				t.Error(err)
			}
			m.becomes(check.Unhealthy)
			go m.isDown()
			g.World = killed.World
			_ = g.Back(killed.ctx)
			for _, h := range m.Read().Holds() {
				time.Sleep(time.Until(h.Until))
			}
			p.assertNoOutage(t)
		},
		"a command": func(_ context.Context, p *pool, m *member, _ *leave.Guard, killed *process) {
			_, _ = leave.Out(killed.ctx, killed.World, command(func(r *leave.Request) { r.Idle = true }))
			firm := m.held() == `operator drain "";`
			if firm && (p.state(0) != haproxy.NoLB || time.Now().Before(m.agents)) {
				t.Error("firm before it is idle")
			}
			time.Sleep(time.Minute)
			p.assertNoOutage(t)
			if firm { // its work may have begun
				_ = m.liftAll()
			}
			otherDies(p)
		},
	} {
		for after, ended := 0, false; !ended; after++ {
			ordinary(2).run(t, func(ctx context.Context, p *pool) {
				m := p.members[0]
				m.worksUntil(time.Now().Add(8 * time.Second))
				killed := m.dies(ctx, after)
				run(ctx, p, m, m.guard(drain.Guard, restarting), killed)
				ended = killed.ctx.Err() == nil
				time.Sleep(10 * time.Second)
				if p.state(0) != haproxy.Up {
					t.Errorf("%s, killed at step %d: it is %s, held: %s", name, after, p.state(0), m.held())
				}
				killed.kill()
			})
			if after > 60 {
				t.Fatalf("%s never ends", name)
			}
		}
	}
}

// TestADaemonThatIsKilledHarmsNobody: at any moment of a restart, for a moment or for longer than a daemon's restart.
func TestADaemonThatIsKilledHarmsNobody(t *testing.T) {
	for _, out := range []time.Duration{3 * time.Second, time.Minute} {
		for at := time.Duration(0); at < 80*time.Second; at += 4 * time.Second {
			ordinary(2).run(t, func(ctx context.Context, p *pool) {
				m := p.members[0]
				go m.withoutDaemon(at, out)
				if err := m.restart(ctx); err != nil {
					t.Errorf("killed after %s for %s: %v", at, out, err)
				}
				time.Sleep(max(0, at+out) + 10*time.Second)
				if p.state(0) != haproxy.Up || m.held() != "" {
					t.Errorf("killed after %s for %s: it is %s, held: %s", at, out, p.state(0), m.held())
				}
				p.assertNoOutage(t)
			})
		}
	}
}
