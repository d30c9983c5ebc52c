package leave_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// What the rows of out_test.go are made of: what is asked, what has happened in the pool before, and what the way out
// finds otherwise than in the pool.

// command is a request of a command, which may take five minutes.
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

func now(r *leave.Request)    { r.Now = true }
func force(r *leave.Request)  { r.Force = true }
func idle(r *leave.Request)   { r.Idle = true }
func server(r *leave.Request) { r.Hold.Service = drain.Master }

func noSuchService(r *leave.Request) { r.Hold.Service = "nosuch" }
func forAMinute(r *leave.Request)    { r.For = time.Minute }

func within(d time.Duration) func(*leave.Request) { return func(r *leave.Request) { r.Wait = d } }

// stop makes it the stop of a service.
func stop(r *leave.Request) {
	r.Hold.Holder = drain.Guard
	r.Idle = true
	r.Stop = guardOf(drain.Guard, restarting)
}

func shutdown(r *leave.Request) { r.Stop.Ask = guardOf(drain.Guard, shuttingDown).Ask }

func agents10s(r *leave.Request) { r.Stop.Limits.Wait = 10 * time.Second }

func turn(d time.Duration) func(*leave.Request) {
	return func(r *leave.Request) { r.Stop.Limits.Turn = d }
}

// What has happened.

func unhealthy(p *pool) { p.members[0].becomes(check.Unhealthy) }

// isHeld takes this master out by a command.
func isHeld(p *pool) { _, _ = leave.Out(context.Background(), p.members[0].world(), command(force)) }

// tornHold has a hold that cannot be read.
func tornHold(p *pool) {
	_ = os.WriteFile(filepath.Join(p.members[0].store.Persistent, "operator.json"), []byte("{"), 0o644)
	p.members[0].noticed()
}

func otherDies(p *pool) {
	p.members[1].becomes(check.Unknown)
	time.Sleep(20 * time.Second)
}

func otherDiesFor(d time.Duration) func(*pool) {
	return func(p *pool) {
		otherDies(p)
		p.members[1].becomes(check.Unhealthy)
		time.AfterFunc(d, func() { p.members[1].becomes(check.Healthy) })
	}
}

// otherIsGone has the other master out for so long that it is not expected back.
func otherIsGone(p *pool) {
	p.members[1].becomes(check.Unhealthy)
	time.Sleep(balancer.ExpectedBack + time.Minute)
}

func liftedLater(p *pool) {
	otherDies(p)
	time.AfterFunc(10*time.Second, func() { _ = p.members[0].liftAll() })
}

// What the daemon says.

func says(answer func() (status.Status, error)) func(*leave.World) {
	return func(w *leave.World) {
		w.Status = func(context.Context) (status.Status, error) { return answer() }
	}
}

var (
	noDaemon   = says(func() (status.Status, error) { return status.Status{}, client.ErrNoDaemon })
	unreadable = says(func() (status.Status, error) { return status.Status{}, errors.New("the answer is too long") })

	youngDaemon = says(func() (status.Status, error) {
		now := time.Now()
		return status.Status{
			Time:         now,
			ListensSince: now.Add(-3 * time.Second),
			Services:     []status.ServiceStatus{{Name: drain.Master}},
		}, nil
	})
)

func silent(w *leave.World) {
	noDaemon(w)
	w.Runs = func(context.Context) bool { return true }
}

// restarts has the daemon not answer once.
func restarts(w *leave.World) {
	next, asked := w.Status, false
	w.Status = func(ctx context.Context) (status.Status, error) {
		if !asked {
			asked = true
			return status.Status{}, client.ErrNoDaemon
		}
		return next(ctx)
	}
}

// connected has, beside a silent daemon, a connection to the master for two minutes, over which a request comes each
// second.
func connected(from string) func(*leave.World) {
	return func(w *leave.World) {
		silent(w)
		end := time.Now().Add(2 * time.Minute)
		w.Connections = func(string) (list []sockets.Connection, err error) {
			if time.Now().Before(end) {
				list = append(list, sockets.Connection{
					Local: netip.MustParseAddr("192.0.2.11"),
					Peer:  netip.AddrPortFrom(netip.MustParseAddr(from), 40000),
					Idle:  time.Second,
				})
			}
			return list, nil
		}
	}
}

// What balancers show.

func sees(change func(s *status.Status)) func(*leave.World) {
	return func(w *leave.World) {
		next := w.Status
		w.Status = func(ctx context.Context) (status.Status, error) {
			s, err := next(ctx)
			change(&s)
			return s, err
		}
	}
}

// onlyThis is a balancer that has this master alone, and asked just now.
func onlyThis(now time.Time) status.Balancer {
	return status.Balancer{
		Node:    "alone",
		Name:    "puppet/m000",
		Service: drain.Master,
		Seen:    now,
		View:    &status.View{State: "UP", Weight: 100, WeightTotal: 100},
	}
}

var (
	noBalancer  = sees(func(s *status.Status) { s.Balancers, s.BalancerAsked = nil, time.Time{} })
	onlyHere    = sees(func(s *status.Status) { s.Balancers = append(s.Balancers, onlyThis(s.Time)) })
	hidesDrain  = sees(func(s *status.Status) { s.Balancers[0].Codes.Drain = 200 })
	asksForHold = sees(func(s *status.Status) { s.Balancers[0].Codes.Unhealthy = 200 })

	// The service ca has this master alone.
	onlyCA = sees(func(s *status.Status) {
		ca := s.Services[0]
		ca.Name = "ca"
		s.Services = append(s.Services, ca)
		s.Balancers = append(s.Balancers, status.Balancer{
			Source:  netip.MustParseAddr("198.51.100.9"),
			Service: "ca",
			Seen:    s.Time,
			View:    &status.View{State: "UP", Weight: 100, WeightTotal: 100},
		})
	})

	// The backend for turns of the pool's HAProxy has this master alone.
	badTurns = sees(func(s *status.Status) {
		b := onlyThis(s.Time)
		b.Name = "0-turn/m000"
		b.Node, b.Source = "lb0", netip.MustParseAddr("198.51.100.1")
		s.Balancers = append(s.Balancers, b)
	})

	// A stranger shows another server.
	forged = sees(func(s *status.Status) {
		b := onlyThis(s.Time)
		b.View.WeightTotal, b.OthersWeight, b.OthersSeen = 200, 100, s.Time
		s.Balancers = append(s.Balancers, b)
	})

	// The daemon started when the pool was in service already, and has heard one balancer.
	youngAndLone = sees(func(s *status.Status) {
		s.Balancers = balancer.List{onlyThis(s.Time)}
		s.ListensSince = s.ListensSince.Add(2*time.Minute + time.Second)
	})
)

// besideBlind has a client without a view ask beside a balancer that has this master alone. It has asked so often, and
// is told of the hold every five seconds.
func besideBlind(checks int64) func(*leave.World) {
	return func(w *leave.World) {
		began := time.Now()
		sees(func(s *status.Status) {
			blind := status.Balancer{
				Source:  netip.MustParseAddr("198.51.100.9"),
				Service: drain.Master,
				Seen:    s.Time,
				Checks:  checks,
				Answer:  status.Answer{Code: 503},
				Answers: int64(s.Time.Sub(began) / (5 * time.Second)),
			}
			s.Balancers = balancer.List{onlyThis(s.Time), blind}
		})(w)
	}
}

// What the budget says.

func free(w *leave.World) { w.Claim = func(context.Context, budget.Claim) error { return nil } }

func usedUp(w *leave.World) {
	w.Claim = func(context.Context, budget.Claim) error { return &budget.TakenError{Allowed: 1} }
}

// silentAndFreeLater has a budget that is used up for a minute, beside a silent daemon.
func silentAndFreeLater(w *leave.World) {
	silent(w)
	began := time.Now()
	w.Claim = func(context.Context, budget.Claim) error {
		if time.Since(began) < time.Minute {
			return &budget.TakenError{Allowed: 1}
		}
		return nil
	}
}

func unreachable(w *leave.World) {
	w.Claim = func(context.Context, budget.Claim) error {
		time.Sleep(budget.Timeout)
		return budget.ErrUnreachable
	}
}

// What the other masters of the fleet say. So many are sorted before this one.

func fleetSays(other fleet.Witness, before int) func(*leave.World) {
	return func(w *leave.World) {
		w.Fleet = func(context.Context) ([]fleet.Witness, int) { return []fleet.Witness{other}, before }
	}
}

var (
	fleetDown    = fleetSays(fleet.Witness{Host: "m2", Code: 503, For: time.Minute}, 0)
	fleetGone    = fleetSays(fleet.Witness{Host: "m2", Code: 503, For: time.Hour}, 0)
	fleetSilent  = fleetSays(fleet.Witness{Host: "m2"}, 0)
	twentyFourth = fleetSays(fleet.Witness{Host: "m2", Code: 200, For: time.Hour}, 23)
)

// What happens to the hold.

// hooks are holds with something before and after each change of one. An error before it keeps it from being made.
type hooks struct {
	leave.Holds
	before, after func() error
}

func (h *hooks) Change(
	holder string, service drain.Service, next func(drain.Hold) (drain.Hold, error),
) (set drain.Hold, err error) {
	if err := h.before(); err != nil {
		return set, err
	}
	set, err = h.Holds.Change(holder, service, next)
	return set, errors.Join(err, h.after())
}

func nothing() error { return nil }

// otherDiesOnceHeld has the other master fall ill in the moment of the hold.
func otherDiesOnceHeld(w *leave.World) {
	other := w.Holds.(*member).members[1]
	w.Holds = &hooks{w.Holds, nothing, func() error { other.becomes(check.Unhealthy); return nil }}
}

// liftedOnceTold has every hold lifted before this one becomes firm.
func liftedOnceTold(w *leave.World) {
	m, changes := w.Holds.(*member), 0
	lift := func() error {
		if changes++; changes == 2 {
			return m.liftAll()
		}
		return nil
	}
	w.Holds = &hooks{m, lift, nothing}
}
