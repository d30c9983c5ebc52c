package leave_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
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
			if got := leave.Stops(tt.service); got != tt.want {
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

// TestAGuardThatIsKilledHarmsNobody: whenever that happens, the pool has a server, and the next start
// returns the master.
func TestAGuardThatIsKilledHarmsNobody(t *testing.T) {
	for after := time.Duration(0); after < 90*time.Second; after += 7 * time.Second {
		ordinary(2).run(t, func(ctx context.Context, p *pool) {
			m := p.members[0]
			m.agents = time.Now().Add(time.Minute)
			running := func() (systemd.Service, error) { return systemd.Service{MainPID: 7, Job: "restart"}, nil }
			killed, kill := context.WithTimeout(ctx, after)
			defer kill()
			g := m.guard(drain.Guard, running)
			g.World.Holds = &untilDone{g.World.Holds, killed}
			_, _ = g.Out(killed)
			m.becomes(check.Unhealthy)
			time.Sleep(m.work)
			m.becomes(check.Healthy)
			if _, err := m.guard(drain.Guard, running).Back(ctx); err != nil || m.held() != "" {
				t.Errorf("killed after %s: %v, held: %s", after, err, m.held())
			}
			time.Sleep(10 * time.Second)
			if p.state(0) != haproxy.Up {
				t.Errorf("killed after %s: it is %s", after, p.state(0))
			}
			p.assertNoOutage(t)
		})
	}
}

// untilDone are holds that a process cannot change any more once it was killed.
type untilDone struct {
	leave.Holds
	process context.Context
}

func (u *untilDone) Change(holder, service string, next func(drain.Hold) drain.Hold) (drain.Hold, error) {
	if u.process.Err() != nil {
		return drain.Hold{}, u.process.Err()
	}
	return u.Holds.Change(holder, service, next)
}

func (u *untilDone) Undo(set, before drain.Hold) (bool, error) { return false, u.process.Err() }
