package leave

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// began is when each way out of the table began; rows say how long ago.
var began = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// Policies of the table. Every way out may take 5 m for a command; for a stop: 20 m for its turn, 5 m for its agents.
func drains(change ...func(*Request)) Policy {
	r := Request{Hold: drain.Hold{Holder: drain.Operator, Mode: drain.Drain}, Wait: 5 * time.Minute}
	for _, f := range change {
		f(&r)
	}
	return r.policy()
}

func stops() Policy {
	return Request{
		Hold: drain.Hold{Holder: drain.Guard, Mode: drain.Drain},
		Idle: true,
		Stop: &Guard{Limits: config.Guard{Turn: 20 * time.Minute, Wait: 5 * time.Minute, Shutdown: 5 * time.Minute}},
	}.policy()
}

// Balancers of the table: lb0/puppet is the backend of the pool, and lb0/only has this master alone, as a backend for
// the only CA has. Both ask for the master itself.
func backend(name string, own, all int) status.Balancer {
	return status.Balancer{
		Source:       netip.MustParseAddr("198.51.100.1"),
		Node:         "lb0",
		Name:         name + "/m1",
		Service:      drain.Master,
		View:         &status.View{State: "UP", Weight: own, WeightTotal: all},
		UnitWeight:   100,
		OthersWeight: all - own,
	}
}

// shows returns the status of a master in service, by a daemon that has listened for a day, with such balancers.
func shows(change ...func(*status.Status)) func(*Facts) {
	return func(f *Facts) {
		s := status.Status{
			Time:         f.Now,
			ListensSince: f.Now.Add(-24 * time.Hour),
			Services: []status.ServiceStatus{{
				Name:    drain.Master,
				Mode:    drain.Ready,
				Verdict: check.Verdict{Health: check.Healthy},
				Answer:  status.Answer{Code: 200},
			}},
			BalancerAsked: f.Now,
		}
		for _, with := range change {
			with(&s)
		}
		for i := range s.Balancers {
			b := &s.Balancers[i]
			b.Seen = f.Now
			if b.OthersWeight > 0 {
				b.OthersSeen = f.Now
			}
		}
		f.Status = s
	}
}

func pool(s *status.Status) { s.Balancers = append(s.Balancers, backend("puppet", 100, 200)) }

// only is a backend that has this master alone.
func only(s *status.Status) { s.Balancers = append(s.Balancers, backend("only", 100, 100)) }

// listed has the setting balancers list those before.
func listed(s *status.Status) {
	for i := range s.Balancers {
		s.Balancers[i].Listed = true
	}
}

func blind(s *status.Status) {
	s.Balancers = append(s.Balancers, status.Balancer{
		Source:  netip.MustParseAddr("198.51.100.2"),
		Service: drain.Master,
		Checks:  100,
	})
}

// otherGone is the pool's backend, whose other server has been missing for a minute.
func otherGone(s *status.Status) {
	b := backend("puppet", 100, 100)
	b.OthersWeight = 100
	b.OthersSeen = s.Time.Add(-time.Minute)
	s.Balancers = append(s.Balancers, b)
}

// unreadable is the pool's backend, whose view cannot be read.
func unreadable(s *status.Status) {
	b := backend("puppet", 100, 200)
	b.View = nil
	b.Unreadable = true
	b.Listed = true
	s.Balancers = append(s.Balancers, b)
}

// perhaps adds a client that has asked twice, and was told of the hold so many times.
func perhaps(told int64) func(*status.Status) {
	return func(s *status.Status) {
		s.Balancers = append(s.Balancers, status.Balancer{
			Source:  netip.MustParseAddr("198.51.100.3"),
			Service: drain.Master,
			Checks:  2,
			Answer:  status.Answer{Code: 503},
			Answers: told,
		})
	}
}

func forgets(s *status.Status) { s.UnseenUntil = s.Time.Add(time.Minute) }
func isYoung(s *status.Status) { s.ListensSince = s.Time.Add(-10 * time.Second) }
func notProbed(s *status.Status) {
	s.Started = s.Time.Add(-time.Second)
	s.Services[0].Verdict = check.Verdict{Health: check.Unknown, Reason: check.NotProbed}
}
func isDown(s *status.Status) { s.Services[0].Verdict.Health = check.Unhealthy }
func gateRuns(s *status.Status) {
	s.Gate = &status.GateStatus{Closed: true, Looked: s.Time}
}

// hidesVerdict has the balancers before ask for the hold alone.
func hidesVerdict(s *status.Status) {
	for i := range s.Balancers {
		s.Balancers[i].Codes.Unhealthy = 200
	}
}

// withCA adds the service ca, which has two servers.
func withCA(s *status.Status) {
	service := s.Services[0]
	service.Name = "ca"
	s.Services = append(s.Services, service)
	b := backend("ca", 100, 200)
	b.Service = "ca"
	s.Balancers = append(s.Balancers, b)
}

// inContainer is a master whose connections this host does not see, with sessions of the balancers before.
func inContainer(s *status.Status) {
	s.Probe.Listener = "somebody"
	for i := range s.Balancers {
		s.Balancers[i].View.Sessions = 3
	}
}

// held has the daemon act on the hold: since a minute ago, and balancers keep the master or have let it go.
func held(level drain.Leaving) func(*status.Status) {
	return func(s *status.Status) {
		for i := range s.Services {
			v := &s.Services[i]
			v.Mode = drain.Drain
			v.Departure.Leaving = level
			v.ModeSince = s.Time.Add(-time.Minute)
		}
	}
}

func startedAgo(ago time.Duration) func(*status.Status) {
	return func(s *status.Status) { s.Started = s.Time.Add(-ago) }
}

// heldAlone has a firm hold on the master, and none on what is beside it.
func heldAlone(s *status.Status) { s.Services[0].Mode = drain.Drain }

func letGo(s *status.Status) {
	for i := range s.Balancers {
		s.Balancers[i].Answer.Code = 503
		s.Balancers[i].View.State = "NOLB"
	}
}

// notSince has each balancer not have asked since the hold changed.
func notSince(s *status.Status) {
	for i := range s.Services {
		s.Services[i].ModeSince = s.Time.Add(time.Minute)
	}
}

// Facts beside the status.

// own is its hold, written 10 s ago.
func own(level drain.Leaving) func(*Facts) {
	return func(f *Facts) {
		f.Own = drain.Hold{Holder: "x", Mode: drain.Drain, Leaving: level}
		f.Held = f.Now.Add(-10 * time.Second)
	}
}

func daemon(p Presence) func(*Facts) {
	return func(f *Facts) {
		f.Daemon = p
		f.Unanswered = client.ErrNoDaemon
		f.Lost = f.Now.Add(-20 * time.Second)
		f.Ran = f.Lost
	}
}

// daemonGone has the daemon not run any more, after it has shown the status before.
func daemonGone(ago time.Duration) func(*Facts) {
	return func(f *Facts) {
		daemon(DaemonAbsent)(f)
		f.Ran = f.Now.Add(-ago)
	}
}

func slotIs(refusal error) func(*Facts) {
	return func(f *Facts) {
		f.HasBudget = true
		f.Slot = &SlotAnswer{Refusal: refusal}
	}
}

func fleetSays(w ...fleet.Witness) func(*Facts) {
	return func(f *Facts) {
		f.HasFleet = true
		f.Fleet = &FleetAnswer{Tally: fleet.Judge(w, answer.MaxOut{Number: 1}), Place: 3}
	}
}

func agent(f *Facts) {
	f.Connections = []sockets.Connection{{
		Local: netip.MustParseAddr("192.0.2.11"),
		Peer:  netip.MustParseAddrPort("192.0.2.53:40000"),
		Idle:  time.Second,
	}}
}

// fromThisHost has an agent of a balancer on this host.
func fromThisHost(f *Facts) {
	agent(f)
	f.Connections[0].Local = netip.MustParseAddr("127.0.0.1")
	f.Connections[0].Peer = netip.MustParseAddrPort("127.0.0.1:40000")
}

// saysItsOwn has a daemon that has said which connection to the master is its own.
func saysItsOwn(s *status.Status) {
	s.Probe.Connections = []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:50000")}
}

// describe says what a step does and, in brackets, in which phase the way out is then. "refuse" is an *Error of the
// kind Refused, "end" any other end.
func describe(s State, step Step) string {
	does := []string{"wait", "claim", "ask the fleet", "hold", "lift", "end"}[step.Do]
	if step.Do == Hold {
		does += " " + cmp.Or(string(step.Level), "firm")
	}
	if step.Force {
		does += " by force"
	}
	if len(step.Blockers) > 0 {
		does += ": " + blocker.Summary(step.Blockers)
	}
	if step.Err != nil {
		if failed := (*Error)(nil); errors.As(step.Err, &failed) && failed.Kind == Refused {
			return "refuse: " + step.Err.Error()
		}
		return "end: " + step.Err.Error()
	}
	if step.Ends {
		return does + ", and end"
	}
	phases := []string{"start", "slot", "fleet", "out", "idle", "last"}
	return fmt.Sprintf("%s (%s)", does, phases[s.Phase])
}

// TestNext has what a departure does, question by question. "out" is the phase until every balancer has let go, "idle"
// the phase until the last agent has finished; the phase in brackets is the next one.
func TestNext(t *testing.T) {
	idle := func(r *Request) { r.Idle = true }
	now := func(r *Request) { r.Now = true }
	force := func(r *Request) { r.Force = true }
	serviceCA := func(r *Request) { r.Hold.Service = "ca" }

	taken := &budget.TakenError{Slots: []budget.Slot{{Master: "m2"}}, Allowed: 1}
	hangs := fmt.Errorf("%w: timeout", budget.ErrUnreachable)
	serves := fleet.Witness{Host: "m2", Code: 200, For: time.Hour}
	isOut := fleet.Witness{Host: "m2", Code: 503, For: time.Minute}
	mute := fleet.Witness{Host: "m2"}

	out := func(ago time.Duration) func(*State, time.Time) {
		return func(s *State, now time.Time) { s.times.out = now.Add(-ago) }
	}
	firmFor := func(d time.Duration) func(*State, time.Time) {
		return func(s *State, now time.Time) { s.times.firm = now.Add(-d) }
	}
	dbSilentFor := func(d time.Duration) func(*State, time.Time) {
		return func(s *State, now time.Time) { s.answered = now.Add(-d) }
	}
	paused := func(s *State, _ time.Time) { s.paused = true }
	forced := func(s *State, _ time.Time) { s.forced = true }
	clearFor := func(d time.Duration) func(*State, time.Time) {
		return func(s *State, now time.Time) { s.clear = now.Add(-d) }
	}
	hostStopsFor := func(d time.Duration) func(*State, time.Time) {
		return func(s *State, now time.Time) { s.times.hostStops = now.Add(-d) }
	}
	knowsSlot := func(s *State, _ time.Time) { s.times.slots = map[string]bool{"m2": true} }
	muteFor := func(d time.Duration) func(*State, time.Time) {
		return func(s *State, now time.Time) { s.muteSince = now.Add(-d) }
	}
	budgetAndFleet := func(f *Facts) { f.HasBudget, f.HasFleet = true, true }
	hasFleet := func(f *Facts) { f.HasFleet = true }

	type facts = []func(*Facts)
	type remembers = []func(s *State, now time.Time)
	for _, tt := range []struct {
		name  string
		phase Phase
		after time.Duration // since the way out began
		state remembers     // what it remembers
		sees  facts
		asked Policy
		does  string
		notes string
	}{
		// The ordinary way: budget, then fleet, then balancers; out, idle, firm.
		{name: "a pool whose views decide", sees: facts{shows(pool)}, asked: drains(), does: "hold turn (out)"},
		{name: "with a budget", sees: facts{shows(pool), budgetAndFleet}, asked: drains(), does: "claim (slot)"},
		{name: "it has a slot", phase: PhaseSlot, sees: facts{shows(pool), slotIs(nil)}, asked: drains(),
			does: "hold slot (out)"},
		{name: "others have the slots", phase: PhaseSlot, sees: facts{shows(pool), slotIs(taken)}, asked: drains(),
			does: "wait: " + taken.Error() + " (slot)"},
		{name: "a balancer still sends", phase: PhaseOut, sees: facts{shows(pool, held("turn")), own("turn")},
			asked: drains(), does: "wait: lb0/puppet still sends (UP, 0 sessions) (out)"},
		{name: "every balancer has let go", phase: PhaseOut, sees: facts{shows(pool, held("turn"), letGo), own("turn")},
			asked: drains(), does: "hold firm, and end"},
		{name: "that is waited for until it is idle", phase: PhaseOut,
			sees: facts{shows(pool, held("turn"), letGo), own("turn")}, asked: drains(idle), does: "wait (idle)"},
		{name: "an agent is left", phase: PhaseIdle, state: remembers{out(time.Second)},
			sees: facts{shows(pool, held("turn"), letGo), own("turn"), agent}, asked: drains(idle),
			does: "wait: 1 connection in use, from 192.0.2.53 (idle)"},
		{name: "the time of a command is over", phase: PhaseOut, after: 5 * time.Minute,
			sees: facts{shows(pool, held("turn")), own("turn")}, asked: drains(),
			does: "refuse: not out within 5m0s: lb0/puppet still sends (UP, 0 sessions)"},
		{name: "the time of a command is over, and agents are left", phase: PhaseIdle, after: 5 * time.Minute,
			state: remembers{out(time.Minute)},
			sees:  facts{shows(pool, held("turn"), letGo), own("turn"), agent}, asked: drains(idle),
			does: "end: not idle within 5m0s: 1 connection in use, from 192.0.2.53"},
		{name: "it does not serve anyway", sees: facts{shows(pool, isDown), budgetAndFleet}, asked: drains(),
			does: "hold firm (out)"},
		{name: "it does not serve, and a service beside it does", sees: facts{shows(pool, withCA, isDown)},
			asked: stops(), does: "hold turn (out)"},
		{name: "it is held firmly without the service beside it", sees: facts{shows(pool, withCA, heldAlone)},
			asked: stops(), does: "hold turn (out)"},
		{name: "it does not serve, and a balancer that asks for the hold alone still sends",
			sees: facts{shows(pool, isDown, hidesVerdict)}, asked: stops(), does: "hold turn (out)"},

		// The daemon is young, or silent, or does not run.
		{name: "a young daemon, a command", sees: facts{shows(pool, isYoung)}, asked: drains(),
			does: "wait: the daemon has listened for 10s, and may not have heard every balancer (start)"},
		{name: "the daemon was restarted, and no probe has ended: it may serve", sees: facts{shows(pool, notProbed)},
			asked: stops(), does: "wait: the daemon has started, and has not probed the master yet (start)"},
		{name: "no probe has ended for 16 s: it may serve, and the pool is asked",
			sees:  facts{shows(pool, notProbed, startedAgo(16*time.Second)), budgetAndFleet},
			asked: stops(), does: "claim (slot)"},
		{name: "a restart of the daemon", sees: facts{daemon(DaemonPauses)}, asked: drains(),
			does: "wait: the daemon does not answer (start)"},
		{name: "a silent daemon, a command", sees: facts{daemon(DaemonSilent)}, asked: drains(),
			does: "end: the daemon runs, and does not answer: the daemon does not answer"},
		{name: "a silent daemon, a command that holds already", phase: PhaseOut,
			sees: facts{daemon(DaemonSilent), own("turn")}, asked: drains(), does: "wait: the daemon does not answer (out)"},
		{name: "a silent daemon, a stop asks budget and fleet",
			sees: facts{daemon(DaemonSilent), budgetAndFleet}, asked: stops(), does: "claim (slot)"},
		{name: "a silent daemon that has shown a master which does not serve: it may serve by now",
			sees: facts{shows(pool, isDown), daemon(DaemonSilent), budgetAndFleet}, asked: stops(), does: "claim (slot)"},
		{name: "a silent daemon, a stop holds, and waits as long as a balancer asks", phase: PhaseOut,
			sees: facts{daemon(DaemonSilent), own("turn")}, asked: stops(),
			does: "wait: no daemon answers, so balancers may still send for 20s (out)"},
		{name: "a silent daemon, a connection from this host: it may be the daemon's", phase: PhaseIdle,
			state: remembers{out(time.Minute)}, asked: stops(),
			sees: facts{shows(pool), daemon(DaemonSilent), own("turn"), fromThisHost},
			does: "wait: no daemon answers, so balancers may still send for 20s (idle)"},
		{name: "a silent daemon that has said which is its own: any other one may be an agent's", phase: PhaseIdle,
			state: remembers{out(time.Minute)}, asked: stops(),
			sees: facts{shows(pool, saysItsOwn), daemon(DaemonSilent), own("turn"), fromThisHost},
			does: "wait: no daemon answers, so balancers may still send for 20s; 1 connection in use, from 127.0.0.1 (idle)"},
		{name: "a master in a container, and its daemon stops: sessions that it saw last may be agents, for guard.wait",
			phase: PhaseOut, sees: facts{shows(pool, inContainer), daemonGone(31 * time.Second), own("turn")},
			asked: stops(), does: "wait: lb0/puppet counts 3 sessions, and this host sees 0 connections (idle)"},
		{name: "and guard.wait is over", phase: PhaseIdle, state: remembers{out(5 * time.Minute)}, after: 6 * time.Minute,
			sees:  facts{shows(pool, inContainer), daemonGone(6 * time.Minute), own("turn")},
			asked: stops(), does: "hold firm (last)"},
		{name: "firm, and a silent daemon: what it told whom would change nothing", phase: PhaseLast,
			state: remembers{out(time.Minute), firmFor(0)},
			sees:  facts{daemon(DaemonSilent), own("")}, asked: stops(), does: "end (last)"},
		{name: "no daemon runs, so no balancer hears", sees: facts{daemon(DaemonAbsent), budgetAndFleet}, asked: drains(),
			does: "hold firm, and end"},

		// The database hangs.
		{name: "the database hangs, a command", phase: PhaseSlot, sees: facts{shows(pool), slotIs(hangs)},
			asked: drains(), does: "end: " + hangs.Error()},
		{name: "the database hangs, a stop asks again for 30 s", phase: PhaseSlot,
			state: remembers{dbSilentFor(29 * time.Second)},
			sees:  facts{shows(pool), slotIs(hangs)}, asked: stops(),
			does: "wait: " + hangs.Error() + " (slot)"},
		{name: "the database hangs, a stop goes on by fleet and views", phase: PhaseSlot,
			state: remembers{dbSilentFor(30 * time.Second)},
			sees:  facts{shows(pool), slotIs(hangs), hasFleet}, asked: stops(),
			does: "ask the fleet (fleet)", notes: "goes on without the budget: " + hangs.Error()},

		// This master is the only server of a balancer.
		{name: "the only server, a command", sees: facts{shows(pool, only)}, asked: drains(),
			does: "refuse: must stay in service: balancer lb0/only has no other server than m1"},
		{name: "the only server, a stop", sees: facts{shows(pool, only)}, asked: stops(), does: "hold turn (out)",
			notes: "does not wait for balancer lb0/only, which has no other server than m1"},
		{name: "the only server of one balancer, and the others have let go", phase: PhaseOut,
			sees:  facts{shows(pool, letGo, only, held("turn")), own("turn")},
			asked: stops(), does: "wait (idle)"},
		{name: "the only server of every balancer: its agents can go nowhere else", phase: PhaseOut,
			sees: facts{shows(only, held("turn")), own("turn"), agent}, asked: stops(), does: "hold firm (last)"},
		{name: "the only server of every balancer, and the gate sends agents elsewhere", phase: PhaseIdle,
			state: remembers{out(time.Second)}, sees: facts{shows(only, held("turn"), gateRuns), own("turn"), agent},
			asked: stops(), does: "wait: 1 connection in use, from 192.0.2.53 (idle)"},
		{name: "firm: that balancer is told, so that a backup takes over", phase: PhaseLast,
			state: remembers{out(time.Minute), firmFor(0)},
			sees:  facts{shows(only, held("")), own("")}, asked: stops(),
			does: "wait: lb0/only still sends (UP, 0 sessions) (last)"},

		{name: "the only server of every balancer that is listed: no use to wait for a slot", phase: PhaseSlot,
			sees: facts{shows(only, listed), slotIs(taken)}, asked: stops(), does: "claim by force (slot)",
			notes: "goes on without a slot: " + taken.Error()},
		{name: "that slot was claimed by force", phase: PhaseSlot, state: remembers{forced},
			sees: facts{shows(only, listed), slotIs(nil)}, asked: stops(), does: "hold slot (out)",
			notes: "does not wait for balancer lb0/only, which has no other server than m1"},
		{name: "the only server of balancers that are not listed: another may be there", phase: PhaseSlot,
			sees: facts{shows(only), slotIs(taken)}, asked: stops(), does: "wait: " + taken.Error() + " (slot)"},

		{name: "another server is expected back, a command", sees: facts{shows(otherGone)}, asked: drains(),
			does: "hold turn (out)"},

		// A balancer may ask that is not remembered.
		{name: "a forgotten balancer, a command", sees: facts{shows(pool, forgets)}, asked: drains(),
			does: "wait: " + balancer.TooMany().Text + " (start)"},
		{name: "a forgotten balancer, a stop in its turn", after: 19 * time.Minute, sees: facts{shows(pool, forgets)},
			asked: stops(), does: "wait: " + balancer.TooMany().Text + " (start)"},
		{name: "a forgotten balancer, a stop whose turn is over", after: 20 * time.Minute,
			sees: facts{shows(pool, forgets)}, asked: stops(), does: "hold turn (out)"},

		// What else is not known of a balancer.
		{name: "a view that cannot be read", phase: PhaseOut, sees: facts{shows(unreadable, held("turn")), own("turn")},
			asked: stops(), does: "wait: balancer lb0/puppet sends a view that cannot be read: " +
				"are its names longer than 128 characters? (out)"},
		{name: "a view that cannot be read, and the turn is over", phase: PhaseOut, after: 20 * time.Minute,
			sees: facts{shows(unreadable, held("turn")), own("turn")}, asked: stops(), does: "hold spare (idle)",
			notes: "goes on wherever there is another server: balancer lb0/puppet sends a view that cannot be read: " +
				"are its names longer than 128 characters?"},
		{name: "perhaps a balancer, which was told once", phase: PhaseOut,
			sees: facts{shows(pool, letGo, perhaps(1), held("turn")), own("turn")}, asked: drains(),
			does: "wait: 198.51.100.3 was told 1 of 3 times; if it is not a balancer, set balancers in pmcheck.yaml (out)"},
		{name: "perhaps a balancer, which was told three times", phase: PhaseOut,
			sees: facts{shows(pool, letGo, perhaps(3), held("turn")), own("turn")}, asked: drains(),
			does: "hold firm, and end"},

		// The host shuts down: half of guard.shutdown, 5 m, is for the turn.
		{name: "the host shuts down: its turn", phase: PhaseOut, after: 149 * time.Second,
			state: remembers{hostStopsFor(149 * time.Second)},
			sees:  facts{shows(pool, held("turn")), own("turn")}, asked: stops(),
			does: "wait: lb0/puppet still sends (UP, 0 sessions) (out)"},
		{name: "the host shuts down: its turn is over", phase: PhaseOut, after: 150 * time.Second,
			state: remembers{hostStopsFor(150 * time.Second)},
			sees:  facts{shows(pool, held("turn")), own("turn")}, asked: stops(), does: "hold spare (idle)",
			notes: "goes on wherever there is another server: lb0/puppet still sends (UP, 0 sessions)"},
		{name: "the host shuts down: a last server serves on, although guard.wait is over", phase: PhaseIdle,
			after: 10 * time.Minute,
			state: remembers{hostStopsFor(4 * time.Minute), out(6 * time.Minute)},
			sees:  facts{shows(otherGone, held("spare")), own("spare")}, asked: stops(),
			does: "wait: lb0/puppet still sends (UP, 0 sessions) (idle)"},
		{name: "the host shuts down: it must stop", phase: PhaseIdle, after: 270 * time.Second,
			state: remembers{hostStopsFor(270 * time.Second), out(2 * time.Minute)},
			sees:  facts{shows(otherGone, held("spare")), own("spare")}, asked: stops(), does: "hold firm (last)"},

		// Two masters leave at once: the fleet is asked twice, and once more where something follows the hold blindly.
		{name: "the fleet lets it go: the fourth of the list pauses for 7.5 s", phase: PhaseFleet,
			sees: facts{shows(blind), fleetSays(serves)}, asked: drains(),
			does: "wait: asks the fleet again in 7.5s (fleet)"},
		{name: "and again: it holds before the last question", phase: PhaseFleet,
			state: remembers{paused}, sees: facts{shows(blind), fleetSays(serves)}, asked: drains(),
			does: "hold turn (fleet)"},
		{name: "held, and the daemon acts on it: the last question", phase: PhaseFleet,
			state: remembers{paused}, sees: facts{shows(blind, held("turn")), own("turn")},
			asked: drains(), does: "ask the fleet (fleet)"},
		{name: "held, and the daemon does not act on it yet", phase: PhaseFleet,
			state: remembers{paused}, sees: facts{shows(blind), own("turn"), hasFleet}, asked: drains(),
			does: "wait: asks the fleet once more, held (fleet)"},
		{name: "held, and the daemon has stopped: nothing will tell that it acts", phase: PhaseFleet,
			state: remembers{paused}, sees: facts{shows(blind), daemonGone(time.Second), own("turn"), hasFleet},
			asked: stops(), does: "ask the fleet (fleet)"},
		{name: "another has left in the same moment: it lifts its hold", phase: PhaseFleet,
			state: remembers{paused},
			sees:  facts{shows(blind, held("turn")), own("turn"), fleetSays(isOut)}, asked: drains(),
			does: "lift: m2 of the fleet does not serve: 503, for 1m (fleet)"},
		{name: "the last question is answered", phase: PhaseFleet, state: remembers{paused},
			sees: facts{shows(blind, held("turn")), own("turn"), fleetSays(serves)}, asked: drains(),
			does: "hold turn (out)"},
		{name: "no master of the fleet answers, for 29 s", phase: PhaseFleet, after: time.Minute,
			state: remembers{muteFor(29 * time.Second), paused},
			sees:  facts{shows(pool), fleetSays(mute)}, asked: drains(),
			does:  "wait: no other master of the fleet is known to have served for 30s; no answer from m2 (fleet)",
			notes: "no answer from the fleet's m2"},
		{name: "no master of the fleet answers, for 30 s, and views decide", phase: PhaseFleet,
			state: remembers{muteFor(30 * time.Second), paused},
			sees:  facts{shows(pool), fleetSays(mute)}, asked: drains(), does: "hold turn (out)",
			notes: "no answer from the fleet's m2"},
		{name: "no master of the fleet answers, and nothing else is known", phase: PhaseFleet, after: time.Minute,
			state: remembers{muteFor(time.Minute), paused},
			sees:  facts{shows(blind), fleetSays(mute)}, asked: drains(),
			does:  "wait: no other master of the fleet is known to have served for 30s; no answer from m2 (fleet)",
			notes: "no answer from the fleet's m2"},

		{name: "views of listed balancers decide: the fleet is not asked",
			sees:  facts{shows(pool, listed), hasFleet},
			asked: drains(), does: "hold turn (out)"},
		{name: "nothing tells whether the pool can do without it", sees: facts{shows(blind)}, asked: drains(),
			does: "hold turn (out)", notes: "nothing tells whether the pool can do without this master: " +
				"no balancer shows another server, and budget and fleet are not asked"},

		// A stop that is cancelled.
		{name: "a cancelled stop", phase: PhaseOut,
			sees:  facts{shows(pool, held("turn")), own("turn"), func(f *Facts) { f.NoStop = ErrCancelled }},
			asked: stops(), does: "end: the stop was cancelled"},
		{name: "its hold was lifted", phase: PhaseOut,
			sees:  facts{shows(pool, held("turn")), own("turn"), func(f *Facts) { f.Gone = true }},
			asked: stops(), does: "end: " + errGone.Error()},

		// Two departures of one host: each has a hold of its own.
		{name: "another party is leaving already", sees: facts{shows(pool, held("turn"))}, asked: drains(),
			does: "hold turn (out)"},
		{name: "another party has a firm hold: no balancer keeps the master",
			sees: facts{shows(pool, held("")), budgetAndFleet}, asked: drains(), does: "hold firm (out)"},
		{name: "another party has a firm hold, and a balancer has not asked since", phase: PhaseOut,
			sees:  facts{shows(pool, held(""), notSince), own("")},
			asked: drains(), does: "wait: lb0/puppet has not asked since the hold changed (out)"},
		{name: "a stop waits for its turn, and somebody forces the master out", phase: PhaseOut,
			sees:  facts{shows(otherGone, held("")), own("turn")},
			asked: stops(), does: "wait: lb0/puppet still sends (UP, 0 sessions) (out)"},

		// --now: budget and fleet are not asked, and no balancer is waited for.
		{name: "--now", sees: facts{shows(pool), budgetAndFleet}, asked: drains(now), does: "hold firm, and end"},
		{name: "--now, a young daemon", sees: facts{shows(pool, isYoung)}, asked: drains(now),
			does: "hold firm, and end"},
		{name: "--now, a silent daemon", sees: facts{daemon(DaemonSilent)}, asked: drains(now),
			does: "hold firm, and end"},
		{name: "--now, the only server", sees: facts{shows(pool, only)}, asked: drains(now),
			does: "refuse: must stay in service: balancer lb0/only has no other server than m1"},
		{name: "--now, another server is expected back: there is no time for that", sees: facts{shows(otherGone)},
			asked: drains(now), does: "refuse: must stay in service: balancer lb0/puppet has no other server than m1"},
		{name: "--now --wait: agents are waited for", sees: facts{shows(pool)}, asked: drains(now, idle),
			does: "hold firm (idle)"},

		// --force
		{name: "--force beside the only CA", sees: facts{shows(pool, only, isYoung)}, asked: drains(force),
			does: "hold firm (out)"},
		{name: "--force with a budget", sees: facts{shows(pool), budgetAndFleet}, asked: drains(force),
			does: "claim by force (slot)"},
		{name: "--force, and the database hangs", phase: PhaseSlot, sees: facts{shows(pool), slotIs(hangs)},
			asked: drains(force), does: "hold firm (out)", notes: "goes on without the budget: " + hangs.Error()},
		{name: "--force, and a silent daemon", sees: facts{daemon(DaemonSilent)}, asked: drains(force),
			does: "hold firm (out)"},

		{name: "--force, and the time is over: the firm hold stays", phase: PhaseOut, after: 5 * time.Minute,
			sees: facts{shows(pool, held("")), own("")}, asked: drains(force),
			does: "end: not out within 5m0s: lb0/puppet still sends (UP, 0 sessions)"},

		// A stop whose turn is over.
		{name: "its turn is over: wherever there is another server", phase: PhaseOut, after: 20 * time.Minute,
			sees: facts{shows(pool, held("turn")), own("turn")}, asked: stops(), does: "hold spare (idle)",
			notes: "goes on wherever there is another server: lb0/puppet still sends (UP, 0 sessions)"},
		{name: "a slot may come until others must have given theirs back", phase: PhaseSlot, after: 29 * time.Minute,
			state: remembers{knowsSlot},
			sees:  facts{shows(blind), slotIs(taken)}, asked: stops(), does: "wait: " + taken.Error() + " (slot)"},
		{name: "no slot has come: others must see that it is out", phase: PhaseSlot, after: 30 * time.Minute,
			state: remembers{knowsSlot},
			sees:  facts{shows(blind), slotIs(taken)}, asked: stops(), does: "claim by force (slot)",
			notes: "goes on without a slot: " + taken.Error()},

		{name: "a slot changes hands: its turn begins anew", phase: PhaseSlot, after: 30 * time.Minute,
			sees: facts{shows(blind), slotIs(taken)}, asked: stops(), does: "wait: " + taken.Error() + " (slot)"},
		{name: "its turn is over, the fleet", phase: PhaseFleet, after: 20 * time.Minute,
			sees: facts{shows(pool), fleetSays(isOut)}, asked: stops(), does: "hold turn (out)",
			notes: "goes on without the fleet: m2 of the fleet does not serve: 503, for 1m"},
		{name: "its turn is not over, and the other server may come back: agents are waited for", phase: PhaseIdle,
			after: 19 * time.Minute, state: remembers{out(0)},
			sees: facts{shows(otherGone, held("turn")), own("turn"), agent}, asked: stops(),
			does: "wait: lb0/puppet still sends (UP, 0 sessions); 1 connection in use, from 192.0.2.53 (idle)"},
		{name: "its turn is over, and there is no other server: agents are not waited for", phase: PhaseIdle,
			after: 20 * time.Minute, state: remembers{out(0)},
			sees: facts{shows(otherGone, held("spare")), own("spare"), agent}, asked: stops(), does: "hold firm (last)"},

		// A service beside the master takes no slot, and asks no fleet.
		{name: "a service beside the master", sees: facts{shows(pool, withCA), budgetAndFleet}, asked: drains(serviceCA),
			does: "hold turn (out)"},
		{name: "a service beside the master has no agents of its own", phase: PhaseIdle,
			state: remembers{out(time.Second), clearFor(time.Second)},
			sees:  facts{shows(pool, withCA, held("turn"), letGo), own("turn"), agent}, asked: drains(serviceCA, idle),
			does: "hold firm (last)"},
		{name: "every service: the agents are the master's", phase: PhaseIdle,
			state: remembers{out(time.Second), clearFor(time.Second)},
			sees:  facts{shows(pool, withCA, held("turn"), letGo), own("turn"), agent}, asked: drains(idle),
			does: "wait: 1 connection in use, from 192.0.2.53 (idle)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Facts{Now: began.Add(tt.after)}
			for _, add := range tt.sees {
				add(&f)
			}
			s := begin(tt.asked, began)
			s.Phase = tt.phase
			s.answered = f.Now
			for _, change := range tt.state {
				change(&s, f.Now)
			}

			next, step := Next(s, f, tt.asked)
			if got := describe(next, step); got != tt.does {
				t.Errorf("it does %q, want %q", got, tt.does)
			}
			if got := strings.Join(step.Notes, "; "); got != tt.notes {
				t.Errorf("it says %q, want %q", got, tt.notes)
			}
		})
	}
}

// TestASlotBeginsTheTurnAnew: other masters have had theirs for as long as this one has waited.
func TestASlotBeginsTheTurnAnew(t *testing.T) {
	p := stops()
	after := func(d time.Duration, changes ...func(*Facts)) Facts {
		f := Facts{Now: began.Add(d)}
		for _, change := range changes {
			change(&f)
		}
		return f
	}
	s := begin(p, began)
	s.Phase = PhaseSlot
	s, _ = Next(s, after(19*time.Minute, shows(pool), slotIs(nil)), p)

	s, step := Next(s, after(25*time.Minute, shows(pool, held("slot")), own("slot")), p)
	if got := describe(s, step); got != "wait: lb0/puppet still sends (UP, 0 sessions) (out)" {
		t.Errorf("six minutes later it does %q", got)
	}
}
