package leave_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
	"github.com/pmcheck/pmcheck/drain"
)

// held returns the holds of a master, each as holder, mode and what it waits for.
func (m *member) held() (list string) {
	for _, h := range m.Read().At(time.Now()).Holds() {
		list += fmt.Sprintf("%s %s %q;", h.Holder, h.Mode, h.Leaving)
	}
	return list
}

// command is a drain of an operator with a limit of 5 minutes.
func command(change ...func(*leave.Request)) leave.Request {
	r := leave.Request{
		Hold: drain.Hold{Holder: drain.Operator, Mode: drain.Drain},
		Wait: 5 * time.Minute,
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// stop is that of a service that stops in any case.
func stop(r *leave.Request) {
	r.Hold.Holder, r.Idle = drain.Guard, true
	r.Stop = &leave.Stop{Limits: limits(), Check: func(context.Context) (bool, error) { return false, nil }}
}

func noTurn(r *leave.Request) { r.Stop.Limits.Turn = 0 }

// unreachable is a budget whose database does not answer.
func unreachable(w *leave.World) {
	w.Claim = func(context.Context, budget.Claim) error {
		time.Sleep(budget.Timeout)
		return budget.ErrUnreachable
	}
}

// usedUp is a budget of which others have every slot.
func usedUp(w *leave.World) {
	w.Claim = func(context.Context, budget.Claim) error { return &budget.TakenError{Allowed: 1} }
}

// TestOut takes one master of a pool out, whose last agent needs a minute.
func TestOut(t *testing.T) {
	now := func(r *leave.Request) { r.Now = true }
	force := func(r *leave.Request) { r.Force = true }
	idle := func(r *leave.Request) { r.Idle = true }
	short := func(r *leave.Request) { r.Idle, r.Wait = true, 30*time.Second }
	brief := func(r *leave.Request) { r.Wait = 2 * time.Second }
	noDaemon := func(w *leave.World) {
		w.Next = func(context.Context) (status.Status, error) {
			time.Sleep(time.Second)
			return status.Status{}, status.ErrNoDaemon
		}
	}
	unreadable := func(w *leave.World) {
		w.Next = func(context.Context) (status.Status, error) {
			time.Sleep(time.Second)
			return status.Status{}, errors.New("the answer is too long")
		}
	}
	noBalancer := func(w *leave.World) {
		next := w.Next
		w.Next = func(ctx context.Context) (status.Status, error) {
			s, err := next(ctx)
			s.Balancers = nil
			return s, err
		}
	}
	young := func(w *leave.World) {
		w.Next = func(context.Context) (status.Status, error) {
			time.Sleep(time.Second)
			now, services := time.Now(), []status.ServiceStatus{{Name: monitor.Server}}
			return status.Status{Time: now, Started: now.Add(-3 * time.Second), Services: services}, nil
		}
	}
	const firm, leaving = `operator drain "";`, `operator drain "turn";`
	for _, tt := range []struct {
		name    string
		masters int
		setup   func(p *pool)
		world   func(*leave.World)
		request leave.Request
		kind    leave.Kind // of the *leave.Error
		err     string     // empty: none
		holds   string
		within  time.Duration
	}{
		{name: "drain", masters: 2, request: command(), holds: firm, within: 10 * time.Second},
		{name: "drain --wait", masters: 2, request: command(idle), holds: firm, within: 64 * time.Second},
		{name: "not idle in time", masters: 2, request: command(short), kind: leave.NotIdle,
			err: "not idle within 30s: GET /puppet/v3/catalog/a for 0 s", holds: leaving, within: 31 * time.Second},
		{name: "drain --now", masters: 2, request: command(now), holds: firm, within: time.Second},
		{name: "the only server", masters: 1, request: command(), kind: leave.Refused,
			err: "must stay in service: balancer lb0 has no other server for puppet/m000", within: time.Second},
		{name: "the only server, --force", masters: 1, request: command(force), holds: firm, within: 10 * time.Second},
		{name: "the only server, --now", masters: 1, request: command(now), kind: leave.Refused,
			err: "must stay in service: balancer lb0 has no other server for puppet/m000", within: time.Second},
		{name: "a stop of the only server", masters: 1, request: command(stop), kind: leave.Refused,
			err: "must stay in service: balancer lb0 has no other server for puppet/m000", within: time.Second},
		{name: "the other one is expected back, and does not come", masters: 2, setup: otherDies, request: command(),
			kind: leave.Refused, err: "not out within 5m0s: balancer lb0 has had no other server for 5m; " +
				"lb0 still sends (UP, 0 sessions)", within: 5*time.Minute + 2*time.Second},
		{name: "the other one is expected back, --now", masters: 2, setup: otherDies, request: command(now),
			kind: leave.Refused, err: "must stay in service: balancer lb0 has no other server for puppet/m000",
			within: time.Second},
		{name: "a stop, and the other one does not come back", masters: 2, setup: otherDies, request: command(stop),
			holds: `guard drain "";`, within: 16 * time.Minute},
		{name: "a stop of the only server, without a turn", masters: 1, request: command(stop, noTurn), kind: leave.Refused,
			err: "must stay in service: balancer lb0 has no other server for puppet/m000", within: time.Second},
		{name: "a stop without a turn", masters: 2, request: command(stop, noTurn), holds: `guard drain "";`,
			within: 64 * time.Second},
		{name: "no balancer asks a daemon that has just started", masters: 2, world: young,
			request: command(func(r *leave.Request) { r.Wait = 2 * time.Second }), kind: leave.Refused,
			err:    "not out within 2s: the daemon has run for 3s, and no balancer has asked yet",
			within: 3 * time.Second},
		{name: "it does not serve", masters: 2, setup: func(p *pool) { p.members[0].becomes(check.Unhealthy) },
			request: command(), holds: firm, within: 10 * time.Second},
		{name: "it does not serve, and the budget is used up", masters: 2, world: usedUp, request: command(), holds: firm,
			setup: func(p *pool) { p.members[0].becomes(check.Unhealthy) }, within: 10 * time.Second},
		{name: "the budget is used up", masters: 2, world: usedUp, request: command(brief),
			err: "no slot in time: 0 of 1", within: 5 * time.Second},
		{name: "the status cannot be read", masters: 2, world: unreadable, request: command(), kind: leave.Refused,
			err: "not out within 5m0s: the answer is too long", within: 6 * time.Minute},
		{name: "a stop, and no balancer asks", masters: 2, world: noBalancer, request: command(stop),
			holds: `guard drain "";`, within: 5 * time.Second},
		{name: "a stop whose turn does not come", masters: 3, setup: otherDies,
			request: command(stop, func(r *leave.Request) { r.Stop.Limits.Turn = 2 * time.Minute }),
			holds:   `guard drain "";`, within: 150 * time.Second},
		{name: "a stop that is not idle in time", masters: 2,
			request: command(stop, func(r *leave.Request) { r.Stop.Limits.Wait = 10 * time.Second }),
			kind:    leave.NotIdle, err: "not idle within ", holds: `guard drain "";`, within: 30 * time.Second},
		{name: "--force, and not told in time", masters: 2, request: command(force, func(r *leave.Request) { r.Wait = 1 }),
			kind: leave.NotIdle, err: "not out within 1ns: ", holds: firm, within: 2 * time.Second},
		{name: "no daemon", masters: 2, world: noDaemon, request: command(), holds: firm, within: 8 * time.Second},
		{name: "no daemon, --wait=2s", masters: 2, world: noDaemon, request: command(brief), kind: leave.Refused,
			err: "not out within 2s: " + status.ErrNoDaemon.Error(), within: 3 * time.Second},
		{name: "the database does not answer", masters: 2, world: unreachable, request: command(),
			err: budget.ErrUnreachable.Error(), within: 3 * time.Second},
		{name: "the database does not answer, --force", masters: 2, world: unreachable, request: command(force),
			holds: firm, within: 13 * time.Second},
		{name: "a stop, and the database does not answer", masters: 2, world: unreachable, request: command(stop),
			holds: `guard drain "";`, within: 2 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ordinary(tt.masters).run(t, func(ctx context.Context, p *pool) {
				m := p.members[0]
				if tt.setup != nil {
					tt.setup(p)
				}
				m.agents = time.Now().Add(time.Minute)
				w := m.world()
				if tt.world != nil {
					tt.world(&w)
				}
				began := time.Now()
				_, err := leave.Out(ctx, w, tt.request)
				if took := time.Since(began); took > tt.within {
					t.Errorf("took %s", took)
				}
				e, is := errors.AsType[*leave.Error](err)
				if got := fmt.Sprint(err); !strings.HasPrefix(got, cmp.Or(tt.err, "<nil>")) {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				if is && e.Kind != tt.kind {
					t.Errorf("kind %d, want %d", e.Kind, tt.kind)
				}
				if got := m.held(); got != tt.holds {
					t.Errorf("held: %s, want %s", got, tt.holds)
				}
			})
		})
	}
}

// TestAStopWaitsForADatabaseThatRestarts: it goes on without a slot only after a while, and then says so.
func TestAStopWaitsForADatabaseThatRestarts(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		w, began, claims := p.members[0].world(), time.Now(), []string{}
		w.Claim = func(_ context.Context, want budget.Claim) error {
			switch since := time.Since(began); {
			case want.Force:
				claims = append(claims, "forced")
				return nil
			case since < 20*time.Second, since > time.Minute && since < 80*time.Second:
				return budget.ErrUnreachable
			}
			claims = append(claims[:0], "refused")
			return &budget.TakenError{Slots: []budget.Slot{{Master: "m1"}}, Allowed: 1}
		}
		_, err := leave.Out(ctx, w, command(stop))
		took := time.Since(began).Round(time.Minute)
		if err != nil || took != limits().Turn || !slices.Equal(claims, []string{"refused", "forced"}) {
			t.Errorf("%v after %s: %v", err, took, claims)
		}
	})
}

// otherDies has the other master die, and the balancers notice.
func otherDies(p *pool) {
	p.members[1].becomes(check.Unknown)
	time.Sleep(20 * time.Second)
}

func TestAnInterruptedDrainTakesBackWhatIsNotTold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration
		holds string
	}{
		{"not told yet", time.Second, ""},
		{"told, and not idle", 30 * time.Second, `operator drain "turn";`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ordinary(2).run(t, func(ctx context.Context, p *pool) {
				m := p.members[0]
				m.agents = time.Now().Add(time.Minute)
				limited, cancel := context.WithTimeout(ctx, tt.after)
				defer cancel()
				_, err := leave.Out(limited, m.world(), command(func(r *leave.Request) { r.Idle = true }))
				if !errors.Is(err, context.DeadlineExceeded) || m.held() != tt.holds {
					t.Errorf("%v, held: %s", err, m.held())
				}
			})
		})
	}
}

// TestAMasterThatTheFleetLeavesAloneGoesBack: the only other one dies once this one is held.
func TestAMasterThatTheFleetLeavesAloneGoesBack(t *testing.T) {
	s := ordinary(2)
	s.fleet, s.DisableOn404 = true, false
	s.run(t, func(ctx context.Context, p *pool) {
		m := p.members[0]
		w := m.world()
		change := w.Holds
		w.Holds = &afterChange{change, func() { p.members[1].becomes(check.Unhealthy) }}
		_, err := leave.Out(ctx, w, command())
		e, is := errors.AsType[*leave.Error](err)
		if !is || e.Kind != leave.Refused || m.held() != "" {
			t.Errorf("%v, held: %s", err, m.held())
		}
	})
}

func TestTheFleetsLastMasterMustStay(t *testing.T) {
	s := ordinary(2)
	s.fleet, s.DisableOn404 = true, false
	s.run(t, func(ctx context.Context, p *pool) {
		p.members[1].becomes(check.Unhealthy)
		time.Sleep(balancer.ExpectedBack + time.Minute)
		m := p.members[0]
		for _, r := range []leave.Request{command(), command(stop)} {
			began := time.Now()
			_, err := leave.Out(ctx, m.world(), r)
			e, is := errors.AsType[*leave.Error](err)
			if took := time.Since(began); !is || e.Kind != leave.Refused || m.held() != "" || took > time.Second {
				t.Errorf("%v after %s, held: %s", err, took, m.held())
			}
		}
	})
}

// afterChange calls f after each change of a hold.
type afterChange struct {
	leave.Holds
	f func()
}

func (a *afterChange) Change(holder, service string, next func(drain.Hold) drain.Hold) (drain.Hold, error) {
	defer a.f()
	return a.Holds.Change(holder, service, next)
}

func TestAHoldOfAnotherPartyIsKept(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		m := p.members[0]
		r := command()
		if _, err := leave.Out(ctx, m.world(), r); err != nil {
			t.Fatal(err)
		}
		r.New = true
		result, err := leave.Out(ctx, m.world(), r)
		e, is := errors.AsType[*leave.Error](err)
		if !is || e.Kind != leave.Taken || result.Set.Mode != "" || m.held() != `operator drain "";` {
			t.Errorf("%v, held: %s", err, m.held())
		}
	})
}

// TestTheHoldOfAStopEndsByItself: a lift that is lost heals, and one that fails is tried again.
func TestTheHoldOfAStopEndsByItself(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		m := p.members[0]
		result, err := leave.Out(ctx, m.world(), command(stop))
		if err != nil || result.Set.Until.IsZero() {
			t.Fatalf("%v, held until %s", err, result.Set.Until)
		}
		time.Sleep(time.Until(result.Set.Until) + time.Minute)
		if p.state(0) != haproxy.Up {
			t.Errorf("it is %s", p.state(0))
		}
	})
}

func TestBackTriesAgain(t *testing.T) {
	for _, tt := range []struct{ fails, tries int }{{4, 5}, {100, 61}} {
		ordinary(2).run(t, func(ctx context.Context, p *pool) {
			m := p.members[0]
			if _, err := leave.Out(ctx, m.world(), command(stop)); err != nil {
				t.Fatal(err)
			}
			w, tries := m.world(), 0
			w.Holds = &busyHolds{w.Holds, func() bool { tries++; return tries <= tt.fails }}
			lifted, err := leave.Back(ctx, w, time.Minute, drain.Guard)
			failed := tt.fails >= tt.tries
			if tries != tt.tries || errors.Is(err, drain.ErrBusy) != failed || (len(lifted) > 0) == failed {
				t.Errorf("%d tries: %v, %v", tries, lifted, err)
			}
		})
	}
}

// busyHolds are holds that cannot be lifted while another process writes.
type busyHolds struct {
	leave.Holds
	busy func() bool
}

func (b *busyHolds) Undo(set, before drain.Hold) (bool, error) {
	if b.busy() {
		return false, drain.ErrBusy
	}
	return b.Holds.Undo(set, before)
}

// TestAHoldThatCannotBeReadStaysFirm: it has taken the master out, and its work may have begun.
func TestAHoldThatCannotBeReadStaysFirm(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		m := p.members[0]
		if err := os.WriteFile(filepath.Join(m.store.Persistent, "operator.json"), []byte("{"), 0o644); err != nil {
			t.Fatal(err)
		}
		m.noticed()
		limited, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := leave.Out(limited, m.world(), command())
		if !errors.Is(err, context.DeadlineExceeded) || m.held() != `operator drain "";` {
			t.Errorf("%v, held: %s", err, m.held())
		}
	})
}

// TestTwoInterruptedDrainsLeaveNoHold: the second does not put back the hold of the first.
func TestTwoInterruptedDrainsLeaveNoHold(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		otherDies(p)
		m := p.members[0]
		first, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		done := make(chan struct{})
		go func() { defer close(done); _, _ = leave.Out(first, m.world(), command()) }()
		time.Sleep(2 * time.Second)
		second, cancel2 := context.WithTimeout(ctx, 5*time.Second)
		defer cancel2()
		r := command()
		r.Hold.Reason = "x"
		_, _ = leave.Out(second, m.world(), r)
		<-done
		if m.held() != "" {
			t.Errorf("held: %s", m.held())
		}
	})
}

// TestADepartureEndsWithItsHold: an operator who lifts every hold while a stop waits need not wait for its turn.
func TestADepartureEndsWithItsHold(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		otherDies(p)
		m := p.members[0]
		began, done := time.Now(), make(chan error, 1)
		go func() {
			_, err := leave.Out(ctx, m.world(), command())
			done <- err
		}()
		time.Sleep(10 * time.Second)
		if _, err := m.store.LiftAll(); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil || time.Since(began) > 13*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
