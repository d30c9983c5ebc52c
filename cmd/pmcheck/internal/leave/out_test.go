package leave_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// held returns the holds of a master, each as holder, mode and what it waits for.
func (m *member) held() (list string) {
	for _, h := range m.Read().At(time.Now()).Holds() {
		list += fmt.Sprintf("%s %s %q;", h.Holder, h.Mode, h.Leaving)
	}
	return list
}

// departure is a row: one master of a pair leaves, whose last agent needs a minute.
type departure struct {
	name string

	// What there is, and what is asked.
	shape   shape              // a pair, if it is zero
	setup   func(p *pool)      // what has happened in the pool before
	world   func(*leave.World) // what the way out finds otherwise than in the pool
	request leave.Request
	ends    time.Duration // when its context ends, if it does

	// What comes of it.
	kind  leave.Kind // of the *leave.Error, if it is one
	err   string     // how the error begins; empty if there is none
	holds string     // the holds of the master at the end

	// How long it takes.
	least  time.Duration
	within time.Duration // 10 s, if it is 0
}

func (d departure) run(t *testing.T) {
	if d.shape.masters == 0 {
		d.shape = ordinary(2)
	}
	d.shape.run(t, func(ctx context.Context, p *pool) {
		m := p.members[0]
		if d.setup != nil {
			d.setup(p)
		}
		m.worksUntil(time.Now().Add(time.Minute))
		w := m.world()
		if d.world != nil {
			d.world(&w)
		}

		ctx, cancel := context.WithTimeout(ctx, cmp.Or(d.ends, time.Hour))
		defer cancel()
		began := time.Now()
		set, err := leave.Out(ctx, w, d.request)

		if took := time.Since(began); took < d.least || took > cmp.Or(d.within, 10*time.Second) {
			t.Errorf("took %s", took)
		}
		e, is := errors.AsType[*leave.Error](err)
		if !strings.HasPrefix(fmt.Sprint(err), cmp.Or(d.err, "<nil>")) || is && e.Kind != d.kind {
			t.Errorf("error %v, want %s", err, d.err)
		}
		if r := d.request; r.For > 0 && time.Until(set.Until).Round(time.Second) != r.For {
			t.Errorf("it ends at %s, want %s from now", set.Until, r.For)
		}
		if got := m.held(); got != d.holds {
			t.Errorf("held: %s, want %s", got, d.holds)
		}
	})
}

const (
	firm        = `operator drain "";`
	leaving     = `operator drain "turn";`
	guard       = `guard drain "";`
	interrupted = "context deadline exceeded"
	alone       = "must stay in service: balancer lb0/puppet has no other server than m000"
)

// The ways out whose single steps are rows of TestNext are not repeated here: these are what comes of many steps.

// TestOut: a command, and the daemon answers.
func TestOut(t *testing.T) {
	for _, d := range []departure{
		{name: "drain", request: command(), holds: firm},
		{name: "drain --wait", request: command(idle), holds: firm, within: 64 * time.Second},
		{name: "not idle in time", request: command(idle, within(30*time.Second)),
			kind: leave.NotIdle, err: "not idle within 30s: GET /puppet/v3/catalog/a for 0 s", holds: leaving,
			within: 31 * time.Second},
		{name: "interrupted before it is told", request: command(idle), ends: time.Second, err: interrupted},
		{name: "interrupted before it is idle", request: command(idle), ends: 30 * time.Second,
			err: interrupted, holds: leaving, within: 31 * time.Second},
		{name: "the only server, which is held already", shape: ordinary(1), setup: isHeld, request: command(),
			holds: firm},
		{name: "the only server of a balancer that hides drain", shape: ordinary(1), world: hidesDrain,
			request: command(), holds: firm},
		{name: "a service beside the only CA", world: onlyCA, request: command(server), holds: firm},
		{name: "the other one is expected back, and does not come", setup: otherDies, request: command(),
			err: "not out within 5m0s: balancer lb0/puppet has no other server than m000 now, " +
				"and has been missing one for 5m", within: 5*time.Minute + 2*time.Second},
		{name: "the other one is expected back, --now", setup: otherDies, request: command(now),
			err: alone, within: time.Second},
		{name: "it does not serve, but a balancer that asks for the hold alone has no other server",
			shape: ordinary(1), setup: unhealthy, world: asksForHold, request: command(),
			err: alone, within: time.Second},
		{name: "a service that is not configured", request: command(noSuchService),
			err: status.ErrNoService.Error(), within: time.Second},
		{name: "--force, and not told in time", request: command(force, within(1)),
			kind: leave.NotIdle, err: "not out within 1ns: ", holds: firm},
		{name: "a hold that cannot be read stays firm: work may have begun", setup: tornHold, request: command(),
			ends: time.Second,
			err:  interrupted, holds: firm},
		{name: "every hold is lifted while it waits", setup: liftedLater, request: command(),
			kind: leave.Gone, err: "the hold was lifted", within: 13 * time.Second},
		{name: "its hold is lifted before it is firm", world: liftedOnceTold, request: command(),
			kind: leave.Gone, err: "the hold was lifted"},
		{name: "a command, and a backend for turns has this master alone", world: badTurns, request: command(),
			holds: firm},
		{name: "--for, and its turn comes later", setup: otherDiesFor(4 * time.Minute), request: command(forAMinute),
			holds: firm, within: 5 * time.Minute},
	} {
		t.Run(d.name, d.run)
	}
}

// TestOutOfAStop: a service stops, and the daemon answers.
func TestOutOfAStop(t *testing.T) {
	for _, d := range []departure{
		{name: "a stop of the only server", shape: ordinary(1), request: command(stop),
			holds: guard, within: 5 * time.Second},
		{name: "a stop, and the other one does not come back", setup: otherDies, request: command(stop),
			holds: guard, least: 14 * time.Minute, within: 16 * time.Minute},
		{name: "a shutdown, and the other one does not come back", setup: otherDies, request: command(stop, shutdown),
			kind: leave.NotIdle, err: "not idle within 4m30s: balancer lb0/puppet has no other server than m000 now",
			holds: guard, least: 4*time.Minute + 30*time.Second, within: 4*time.Minute + 36*time.Second},
		{name: "a shutdown, and the other one comes back after its turn", setup: otherDiesFor(200 * time.Second),
			request: command(stop, shutdown),
			holds:   guard, least: 200 * time.Second, within: 215 * time.Second},
		{name: "a shutdown of the only server", shape: ordinary(1), request: command(stop, shutdown),
			holds: guard, within: 5 * time.Second},
		{name: "a stop without a turn", request: command(stop, turn(0)),
			holds: guard, least: time.Minute, within: 64 * time.Second},
		{name: "a stop without a turn, beside the only CA", world: onlyCA, request: command(stop, turn(0)),
			holds: guard, least: time.Minute, within: 75 * time.Second},
		{name: "a stop, and no balancer asks", world: noBalancer, request: command(stop), holds: guard},
		{name: "a stop whose turn does not come", shape: ordinary(3), setup: otherDies,
			request: command(stop, turn(2*time.Minute)),
			holds:   guard, within: 150 * time.Second},
		{name: "a stop that is not idle in time", request: command(stop, agents10s),
			kind: leave.NotIdle, err: "not idle within ", holds: guard, within: 30 * time.Second},
		{name: "a stop beside a balancer that has this master alone", world: onlyHere, request: command(stop),
			holds: guard, least: 70 * time.Second, within: 80 * time.Second},
		{name: "a stop beside a balancer that has this master alone, and the other is out",
			setup: otherDiesFor(3 * time.Minute), world: onlyHere, request: command(stop),
			holds: guard, least: 3 * time.Minute, within: 5 * time.Minute},
		{name: "a stop, and a backend for turns has this master alone", world: badTurns, request: command(stop),
			holds: guard, least: time.Minute, within: 80 * time.Second},
	} {
		t.Run(d.name, d.run)
	}
}

// TestOutUnheard: the daemon is young, silent or absent, or may not know who is a balancer.
func TestOutUnheard(t *testing.T) {
	for _, d := range []departure{
		{name: "no balancer asks a daemon that has just started", world: youngDaemon,
			request: command(within(2 * time.Second)),
			err:     "not out within 2s: the daemon has listened for 3s, and may not have heard every balancer",
			within:  3 * time.Second},
		{name: "the status cannot be read", world: unreadable, request: command(),
			kind: leave.Silent, err: "the daemon runs, and does not answer: the answer is too long"},
		{name: "a silent daemon, --force", world: silent, request: command(force),
			holds: firm, least: 30 * time.Second, within: 40 * time.Second},
		{name: "a stop, and a silent daemon", world: silent, request: command(stop),
			holds: guard, least: 30 * time.Second, within: 41 * time.Second},
		{name: "a stop, a silent daemon, and its own connection", world: connected("192.0.2.11"),
			request: command(stop),
			holds:   guard, least: 30 * time.Second, within: 41 * time.Second},
		{name: "a stop, a silent daemon, and an agent", world: connected("192.0.2.53"), request: command(stop),
			holds: guard, least: 2 * time.Minute, within: 150 * time.Second},
		{name: "a stop, a silent daemon, and the budget is used up for a while", world: silentAndFreeLater,
			request: command(stop),
			holds:   guard, least: 90 * time.Second, within: 110 * time.Second},
		{name: "a stop, a silent daemon, and the fleet misses another master", shape: ordinary(3, withFleet),
			setup: otherDiesFor(time.Minute), world: silent, request: command(stop),
			holds: guard, least: 90 * time.Second, within: 3 * time.Minute},
		{name: "no daemon", world: noDaemon, request: command(), holds: firm},
		{name: "no daemon, drain --wait", world: noDaemon, request: command(idle),
			holds: firm, least: 30 * time.Second, within: 40 * time.Second},
		{name: "no daemon, --timeout=2s", world: noDaemon, request: command(within(2 * time.Second)),
			kind: leave.Silent, err: "the daemon has not answered within 2s: " + client.ErrNoDaemon.Error(),
			within: 3 * time.Second},
		{name: "the daemon restarts", world: restarts, request: command(idle),
			holds: firm, least: time.Minute, within: 64 * time.Second},
		{name: "a stop, and a young daemon has heard only a balancer that has this master alone", world: youngAndLone,
			request: command(stop),
			holds:   guard, least: 12 * time.Second, within: 28 * time.Second},
		{name: "a stop, and a client may prove to be a balancer beside a stranger that has this master alone",
			world: besideBlind(4), request: command(stop),
			holds: guard, least: time.Minute, within: 72 * time.Second},
		{name: "a stop, and that client has asked once, as a person does", world: besideBlind(1),
			request: command(stop),
			holds:   guard, within: 12 * time.Second},
	} {
		t.Run(d.name, d.run)
	}
}

// TestOutByBudgetAndFleet: what a database and other masters say counts.
func TestOutByBudgetAndFleet(t *testing.T) {
	for _, d := range []departure{
		{name: "a stop of the only server by any client's view, with a budget that is used up", shape: ordinary(1),
			world: usedUp, request: command(stop, turn(2*time.Minute)),
			holds: guard, least: 12 * time.Minute, within: 12*time.Minute + 5*time.Second},
		{name: "a stop of the only server by any client's view, with a slot", shape: ordinary(1), world: free,
			request: command(stop),
			holds:   guard, within: 7 * time.Second},
		{name: "a stop of the only server by a listed view, with a budget that is used up", shape: ordinary(1, listed),
			world: usedUp, request: command(stop),
			holds: guard, within: 9 * time.Second},
		{name: "the budget is used up", world: usedUp, request: command(within(2 * time.Second)),
			err: "no slot in time: 0 of 1", within: 5 * time.Second},
		{name: "a stop, and the database does not answer", world: unreachable, request: command(stop),
			holds: guard, within: 2 * time.Minute},
		{name: "a view that any client can send switches no fleet off", shape: ordinary(2, withFleet),
			setup: otherDies, world: forged, request: command(),
			err: "its turn has not come: ", within: 5*time.Minute + time.Second},
		{name: "listed views decide, and the fleet is not asked", shape: ordinary(2, listed, alsoFleet),
			world: fleetDown, request: command(),
			holds: firm},
		{name: "unlisted views do not, and it is", shape: ordinary(2, alsoFleet), world: fleetDown, request: command(),
			err: "its turn has not come: ", within: 5*time.Minute + time.Second},
		{name: "none of the fleet answers, and balancers have another server", shape: ordinary(2, alsoFleet),
			world: fleetSilent, request: command(),
			holds: firm, least: 30 * time.Second, within: 50 * time.Second},
		{name: "none of the fleet answers, and nothing else is known", shape: ordinary(2, withFleet),
			world: fleetSilent, request: command(),
			err: "its turn has not come: ", within: 5*time.Minute + time.Second},
		{name: "the fleet knows none that serves, but a balancer does: a stop waits", shape: ordinary(2, alsoFleet),
			world: fleetGone, request: command(stop, turn(2*time.Minute)),
			holds: guard, least: 2 * time.Minute, within: 3 * time.Minute},
		{name: "the fleet knows none that serves, and all is blind: a stop waits for its turn",
			shape: ordinary(2, withFleet), world: fleetDown, request: command(stop, turn(2*time.Minute)),
			holds: guard, least: 2 * time.Minute, within: 3 * time.Minute},
		{name: "the other masters of a fleet let it go", shape: ordinary(2, withFleet), request: command(),
			holds: firm, within: 20 * time.Second},
		{name: "the twelfth and the twenty-fourth of a fleet pause for 27.5 s", shape: ordinary(2, alsoFleet),
			world: twentyFourth, request: command(),
			holds: firm, least: 27500 * time.Millisecond, within: 40 * time.Second},
		{name: "the fleet's last master", shape: ordinary(2, withFleet), setup: otherIsGone, request: command(),
			err: "must stay in service: no other master of the fleet serves", within: 2 * time.Second},
		{name: "a stop of the fleet's last master", shape: ordinary(2, withFleet), setup: otherIsGone,
			request: command(stop),
			holds:   guard, least: time.Minute, within: 65 * time.Second},
		{name: "the fleet leaves it alone once it is held", shape: ordinary(2, withFleet), world: otherDiesOnceHeld,
			request: command(),
			err:     "its turn has not come: ", within: 5*time.Minute + time.Second},
	} {
		t.Run(d.name, d.run)
	}
}

// TestADepartureNamesWhatItDoesNotWaitFor: a balancer that has this master alone, and one that is refused.
func TestADepartureNamesWhatItDoesNotWaitFor(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		w := p.members[0].world()
		next := w.Status
		w.Status = func(ctx context.Context) (status.Status, error) {
			s, err := next(ctx)
			s.Balancers = append(s.Balancers, onlyThis(s.Time))
			s.Refused.From = []front.RefusedClient{{
				Source:   netip.MustParseAddr("192.0.2.9"),
				By:       front.ByRequest,
				Balancer: true,
				Code:     400,
				Asked:    "GET /health",
				Last:     s.Time,
			}}
			return s, err
		}
		var notes []string
		w.Note = func(line string) { notes = append(notes, line) }
		if _, err := leave.Out(ctx, w, command(stop)); err != nil {
			t.Error(err)
		}
		said := strings.Join(notes, "\n")
		for _, want := range []string{
			"does not wait for balancer alone/puppet, which has no other server than m000",
			"does not wait for a client that is refused: 192.0.2.9 ",
			"GET /health",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("it says %q, want %q", said, want)
			}
		}
	})
}

// TestADepartureSaysWhatProtectsThePool, if anything does not.
func TestADepartureSaysWhatProtectsThePool(t *testing.T) {
	short := func(r *leave.Request) { r.Stop.Limits.Turn = time.Minute }
	for _, tt := range []struct {
		name    string
		shape   shape
		world   func(*leave.World)
		request leave.Request
		want    string
	}{
		{name: "a balancer shows another server", shape: ordinary(2), request: command()},
		{name: "nothing does", shape: ordinary(2, blind), request: command(),
			want: "nothing tells whether the pool can do without this master: " +
				"no balancer shows another server, and budget and fleet are not asked"},
		{name: "the fleet", shape: ordinary(2, blind), request: command(),
			world: fleetSays(fleet.Witness{Host: "m2", Code: 200, For: time.Hour}, 0)},
		{name: "a fleet that does not answer, beside balancers that show another server", shape: ordinary(2),
			request: command(), world: fleetSilent, want: "no answer from the fleet's m2"},
		{name: "a fleet that forbids a stop until its turn is over", shape: ordinary(2), request: command(stop, short),
			world: fleetSays(fleet.Witness{Host: "m2", Code: 503, For: time.Second}, 0),
			want:  "goes on without the fleet: m2 of the fleet does not serve: 503, for 1s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.shape.run(t, func(ctx context.Context, p *pool) {
				w, notes := p.members[0].world(), []string{}
				if tt.world != nil {
					tt.world(&w)
				}
				w.Note = func(line string) {
					if !strings.HasPrefix(line, "goes on wherever") { // once its turn is over
						notes = append(notes, line)
					}
				}
				if _, err := leave.Out(ctx, w, tt.request); err != nil {
					t.Error(err)
				}
				if got := strings.Join(notes, "\n"); got != tt.want {
					t.Errorf("it says %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestABudgetIsToldOfTheMaster: who takes it out, and whether it serves, which is assumed if no daemon answers.
func TestABudgetIsToldOfTheMaster(t *testing.T) {
	byAlice := func(r *leave.Request) { r.By = "alice" }
	byScript := func(r *leave.Request) { r.Hold.Holder = "script" }
	for _, tt := range []struct {
		name    string
		world   func(*leave.World)
		request leave.Request
		want    budget.Claim
	}{
		{"an operator", nil, command(byAlice), budget.Claim{By: "alice", InService: true}},
		{"a script", nil, command(byScript), budget.Claim{By: "script", InService: true}},
		{"a silent daemon", silent, command(force), budget.Claim{By: drain.Operator, InService: true, Force: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ordinary(2).run(t, func(ctx context.Context, p *pool) {
				w, got := p.members[0].world(), budget.Claim{}
				if tt.world != nil {
					tt.world(&w)
				}
				w.Claim = func(_ context.Context, want budget.Claim) error { got = want; return nil }
				if _, err := leave.Out(ctx, w, tt.request); err != nil || got != tt.want {
					t.Errorf("%+v, want %+v; %v", got, tt.want, err)
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
		late := time.Since(began) - limits().Turn - limits().Wait - 5*time.Minute // a restart of another master
		if err != nil || late < 0 || late > time.Minute || !slices.Equal(claims, []string{"refused", "forced"}) {
			t.Errorf("%v, %s after the end of its turn: %v", err, late, claims)
		}
	})
}

func TestBackTriesAgain(t *testing.T) {
	for _, tt := range []struct{ fails, tries int }{{4, 5}, {100, 61}} {
		ordinary(2).run(t, func(ctx context.Context, p *pool) {
			w, tries := p.members[0].world(), 0
			if _, err := leave.Out(ctx, w, command(stop)); err != nil {
				t.Fatal(err)
			}
			w.Holds = &hooks{w.Holds, func() error {
				if tries++; tries <= tt.fails {
					return drain.ErrBusy
				}
				return nil
			}, nothing}
			lifted := 0
			w.Changed = func(string, drain.Hold) { lifted++ }
			err := leave.Back(ctx, w, time.Minute, drain.Guard)
			failed := tt.fails >= tt.tries
			if tries != tt.tries || errors.Is(err, drain.ErrBusy) != failed || (lifted == 1) == failed {
				t.Errorf("%d tries: %d lifted, %v", tries, lifted, err)
			}
		})
	}
}

// TestBackWaitsUntilTheMasterServes, and says so if it does not in time.
func TestBackWaitsUntilTheMasterServes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // the master serves
		least time.Duration
		notes string
	}{
		{"it serves", 0, 0, ""},
		{"it starts for 30 s", 30 * time.Second, 30 * time.Second, ""},
		{"it starts for 2 m", 2 * time.Minute, time.Minute,
			"lifts the hold, since the time is over: held until the master serves: warming: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ordinary(2).run(t, func(ctx context.Context, p *pool) {
				m := p.members[0]
				if _, err := leave.Out(ctx, m.world(), command(stop)); err != nil {
					t.Fatal(err)
				}
				m.becomes(check.Warming)
				time.AfterFunc(tt.after, func() { m.becomes(check.Healthy) })
				w, began, notes := m.world(), time.Now(), ""
				w.Note = func(line string) { notes += line }
				err := leave.Back(ctx, w, time.Minute, drain.Guard)
				if took := time.Since(began); took < tt.least || took > tt.least+3*time.Second {
					t.Errorf("took %s, want %s", took, tt.least)
				}
				if err != nil || notes != tt.notes || m.held() != "" {
					t.Errorf("%v; it says %q, want %q; held: %s", err, notes, tt.notes, m.held())
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// TestInServiceIsASecondLong: a master that is in service at the last moment only is not back yet.
func TestInServiceIsASecondLong(t *testing.T) {
	for _, tt := range []struct {
		limit time.Duration
		err   string
	}{
		{10 * time.Second, ""},
		{0, "not in service within 0s: not clear for 1s"},
	} {
		ordinary(2).run(t, func(ctx context.Context, p *pool) {
			w := p.members[0].world()
			w.Say = func(line string) { t.Errorf("it says %q", line) }
			err := w.InService(ctx, drain.Master, tt.limit)
			if fmt.Sprint(err) != cmp.Or(tt.err, "<nil>") || (err != nil) != errors.Is(err, leave.ErrNotBack) {
				t.Errorf("within %s: %v", tt.limit, err)
			}
			p.members[0].becomes(check.Unhealthy)
			w.Say = func(string) {}
			if err := w.InService(ctx, drain.Master, tt.limit); !errors.Is(err, leave.ErrNotBack) {
				t.Errorf("unhealthy, within %s: %v", tt.limit, err)
			}
		})
	}
}

// TestConnectionsAreCountedOnceBalancersHaveLetGo, and it is not said that they were not counted before.
func TestConnectionsAreCountedOnceBalancersHaveLetGo(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		m := p.members[0]
		m.worksUntil(time.Now().Add(time.Minute))
		w, counted, said := m.world(), 0, ""
		w.Connections = func(string) ([]sockets.Connection, error) {
			counted++
			if v, _ := m.status().Service(drain.Master); !v.Departure.Out {
				t.Errorf("they are counted beside %v", v.Departure.Blockers)
			}
			return nil, nil
		}
		w.Say = func(line string) { said += line }
		_, err := leave.Out(ctx, w, command(idle))
		if err != nil || counted == 0 || strings.Contains(said, "counted") {
			t.Errorf("%v; counted %d times; it says %q", err, counted, said)
		}
	})
}

func TestAnEndedHoldMakesNoStartWait(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		w := p.members[0].world()
		set, err := leave.Out(ctx, w, command(stop))
		if err != nil {
			t.Fatal(err)
		}
		p.members[0].becomes(check.Unhealthy)
		time.Sleep(time.Until(set.Until))
		began := time.Now()
		if err := leave.Back(ctx, w, time.Minute, drain.Guard); err != nil || time.Since(began) > 0 {
			t.Errorf("%v, after %s", err, time.Since(began))
		}
	})
}
