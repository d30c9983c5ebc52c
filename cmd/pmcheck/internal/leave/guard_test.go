package leave_test

import (
	"context"
	"errors"
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
		name    string
		service systemd.Service
		want    bool
	}{
		{"no job: the guard alone is stopped", systemd.Service{MainPID: 7}, false},
		{"stop", systemd.Service{MainPID: 7, Job: "stop"}, true},
		{"restart", systemd.Service{MainPID: 7, Job: "restart"}, true},
		{"restart if active", systemd.Service{MainPID: 7, Job: "try-restart"}, true},
		{"start", systemd.Service{MainPID: 7, Job: "start"}, false},
		{"reload", systemd.Service{MainPID: 7, Job: "reload"}, false},
		{"stop, and systemd knows no main process", systemd.Service{SubState: "running", Job: "stop"}, true},
		{"restart during a reload, of the same", systemd.Service{SubState: "reload", Job: "restart"}, true},
		{"restart of a server that died", systemd.Service{Job: "restart"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &leave.Guard{
				Holder: drain.Guard,
				Ask:    func(context.Context, string) (systemd.Service, error) { return tt.service, nil },
			}
			if got := g.Stops(t.Context()); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// guard returns the guard of a master whose service is in a state that changes.
func (m *member) guard(holder string, state func() (systemd.Service, error)) *leave.Guard {
	return &leave.Guard{
		World:     m.world(),
		Unit:      "puppetserver",
		Holder:    holder,
		Limits:    limits(),
		Ask:       func(context.Context, string) (systemd.Service, error) { return state() },
		HostStops: func(context.Context) (bool, error) { return false, nil },
	}
}

// TestGuard has a service stop or reload, whose state changes after 10 s. Its last agent needs a minute.
func TestGuard(t *testing.T) {
	stopping, reloading := systemd.Service{MainPID: 7, Job: "restart"}, systemd.Service{MainPID: 7, Job: "reload"}
	silent := errors.New("systemd does not answer")
	for _, tt := range []struct {
		name   string
		holder string
		states [2]systemd.Service
		silent bool // at first
		skips  bool // it does not begin
		err    error
		holds  string
	}{
		{name: "a restart", holder: drain.Guard, states: [2]systemd.Service{stopping, stopping}, holds: `guard drain "";`},
		{name: "the guard alone is stopped", holder: drain.Guard, skips: true,
			states: [2]systemd.Service{{MainPID: 7}, {MainPID: 7}}},
		{name: "a restart that is cancelled", holder: drain.Guard, states: [2]systemd.Service{stopping, {MainPID: 7}},
			err: leave.ErrCancelled, holds: `guard drain "turn";`},
		{name: "a process that dies", holder: drain.Guard, states: [2]systemd.Service{stopping, {Job: "restart"}},
			err: leave.ErrDied, holds: `guard drain "turn";`},
		{name: "systemd is silent, then the stop goes on", holder: drain.Guard, silent: true,
			states: [2]systemd.Service{stopping, stopping}, holds: `guard drain "";`},
		{name: "systemd is silent, then there is no stop", holder: drain.Guard, silent: true,
			states: [2]systemd.Service{{}, {MainPID: 7}}, err: leave.ErrCancelled, holds: `guard drain "turn";`},
		{name: "a reload", holder: drain.Reload, states: [2]systemd.Service{reloading, reloading}, holds: `reload drain "";`},
		{name: "a reload whose job systemd does not show", holder: drain.Reload,
			states: [2]systemd.Service{{MainPID: 7}, {MainPID: 7}}, holds: `reload drain "";`},
		{name: "a reload of a service that does not run", holder: drain.Reload, skips: true,
			states: [2]systemd.Service{{SubState: "dead"}, {SubState: "dead"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ordinary(2).run(t, func(ctx context.Context, p *pool) {
				m, began := p.members[0], time.Now()
				m.agents = began.Add(time.Minute)
				g := m.guard(tt.holder, func() (systemd.Service, error) {
					switch {
					case tt.silent && time.Since(began) < 20*time.Second:
						return systemd.Service{}, silent
					case time.Since(began) < 10*time.Second:
						return tt.states[0], nil
					}
					return tt.states[1], nil
				})
				if g.Stops(ctx) == tt.skips {
					t.Fatalf("stops: %v", !tt.skips)
				}
				if tt.skips {
					return
				}
				if _, err := g.Out(ctx); !errors.Is(err, tt.err) || m.held() != tt.holds {
					t.Errorf("%v, held: %s", err, m.held())
				}
				if _, err := g.Back(ctx); err != nil || m.held() != "" {
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
		m.agents = time.Now().Add(time.Minute)
		running := func() (systemd.Service, error) { return systemd.Service{MainPID: 7, Job: "restart"}, nil }
		interrupted, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if _, err := m.guard(drain.Reload, running).Out(interrupted); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		stop := m.guard(drain.Guard, running)
		if _, err := stop.Out(ctx); err != nil || m.held() != `guard drain "";reload drain "turn";` {
			t.Errorf("%v, held: %s", err, m.held())
		}
		m.becomes(check.Unhealthy)
		go func() {
			time.Sleep(time.Minute)
			m.becomes(check.Healthy)
		}()
		if lifted, err := stop.Back(ctx); err != nil || len(lifted) != 2 || m.held() != "" {
			t.Errorf("%v, %v, held: %s", lifted, err, m.held())
		}
		time.Sleep(10 * time.Second)
		if p.state(0) != haproxy.Up {
			t.Errorf("it is %s", p.state(0))
		}
		p.assertNoOutage(t)
	})
}

// TestALastServerServesUntilTheHostMustStop: the other one is out, and expected back.
func TestALastServerServesUntilTheHostMustStop(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		otherDies(p)
		m := p.members[0]
		g := m.guard(drain.Guard, func() (systemd.Service, error) { return systemd.Service{MainPID: 7, Job: "stop"}, nil })
		g.HostStops = func(context.Context) (bool, error) { return true, nil }
		began := time.Now()
		_, err := g.Out(ctx)
		if took := time.Since(began).Round(time.Second); err != nil || took != limits().Shutdown-30*time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// A process is a command or a guard that is killed at one of its steps: before it reads the status, and before and
// after it changes a hold.
type process struct {
	leave.Holds
	left int
	kill context.CancelFunc
	ctx  context.Context
}

// dies returns the world of a process that is killed after some steps.
func dies(ctx context.Context, w leave.World, after int) (leave.World, *process) {
	p := &process{Holds: w.Holds, left: after}
	p.ctx, p.kill = context.WithCancel(ctx)
	next := w.Next
	w.Holds, w.Next = p, func(ctx context.Context) (status.Status, error) {
		if err := p.step(); err != nil {
			return status.Status{}, err
		}
		return next(ctx)
	}
	return w, p
}

func (p *process) step() error {
	if p.left--; p.left < 0 {
		p.kill()
	}
	return p.ctx.Err()
}

func (p *process) Change(holder, service string, next func(drain.Hold) drain.Hold) (h drain.Hold, err error) {
	if err := p.step(); err != nil {
		return h, err
	}
	h, err = p.Holds.Change(holder, service, next)
	return h, errors.Join(err, p.step())
}

func (p *process) Undo(set, before drain.Hold) (restored bool, err error) {
	if err := p.step(); err != nil {
		return false, err
	}
	restored, err = p.Holds.Undo(set, before)
	return restored, errors.Join(err, p.step())
}

// TestAKillHarmsNobody kills a process at each of its steps, and then has its master serve again: that of a guard
// with the next start, or if it is killed on the way back, when its hold ends; that of a command at once, if the
// pool needs it, while the hold is leaving.
func TestAKillHarmsNobody(t *testing.T) {
	running := func() (systemd.Service, error) { return systemd.Service{MainPID: 7, Job: "restart"}, nil }
	restart := func(m *member) {
		m.becomes(check.Unhealthy)
		time.Sleep(m.work)
		m.becomes(check.Healthy)
	}
	for name, run := range map[string]func(ctx context.Context, p *pool, m *member, after int) (killed bool){
		"the guard's way out": func(ctx context.Context, p *pool, m *member, after int) bool {
			g := m.guard(drain.Guard, running)
			w, process := dies(ctx, g.World, after)
			g.World = w
			_, _ = g.Out(process.ctx)
			restart(m)
			if _, err := m.guard(drain.Guard, running).Back(ctx); err != nil {
				t.Errorf("step %d: %v", after, err)
			}
			p.assertNoOutage(t)
			return process.ctx.Err() != nil
		},
		"the guard's way back": func(ctx context.Context, p *pool, m *member, after int) bool {
			g := m.guard(drain.Guard, running)
			if _, err := g.Out(ctx); err != nil {
				t.Error(err)
			}
			m.becomes(check.Unhealthy)
			go restart(m)
			w, process := dies(ctx, m.world(), after)
			g.World = w
			_, _ = g.Back(process.ctx)
			for _, h := range m.Read().Holds() {
				time.Sleep(time.Until(h.Until))
			}
			p.assertNoOutage(t)
			return process.ctx.Err() != nil
		},
		"a command": func(ctx context.Context, p *pool, m *member, after int) bool {
			w, process := dies(ctx, m.world(), after)
			_, _ = leave.Out(process.ctx, w, command(func(r *leave.Request) { r.Idle = true }))
			firm := m.held() == `operator drain "";`
			if firm && (p.state(0) != haproxy.NoLB || time.Now().Before(m.agents)) {
				t.Errorf("killed at step %d: firm before it is idle", after)
			}
			time.Sleep(time.Minute)
			p.assertNoOutage(t)
			if firm { // its work may have begun
				_, _ = m.store.LiftAll()
				m.noticed()
			}
			otherDies(p)
			return process.ctx.Err() != nil
		},
	} {
		for after, killed := 0, true; killed; after++ {
			ordinary(2).run(t, func(ctx context.Context, p *pool) {
				m := p.members[0]
				m.agents = time.Now().Add(8 * time.Second)
				killed = run(ctx, p, m, after)
				time.Sleep(10 * time.Second)
				if p.state(0) != haproxy.Up {
					t.Errorf("%s, killed at step %d: it is %s, held: %s", name, after, p.state(0), m.held())
				}
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
				if _, err := m.timed(ctx); err != nil {
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
