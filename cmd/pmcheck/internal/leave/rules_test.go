package leave_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// held is when the hold of every test took effect, and now when it is looked at.
func held() time.Time { return time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC) }
func now() time.Time  { return held().Add(time.Minute) }

// st is a master in a mode whose JRubies were counted a second ago.
func st(mode drain.Mode, change ...func(*status.Status)) status.Status {
	s := status.Status{
		Time: now(),
		Services: []status.ServiceStatus{{
			Name:      monitor.Server,
			Mode:      mode,
			ModeSince: held(),
			Answer:    status.Answer{Code: 503, Body: string(mode)},
			Checks: []status.CheckStatus{{Finding: check.Finding{
				Check:   check.CheckJRuby,
				Pool:    &check.Pool{Size: 2, Free: 2},
				Checked: now().Add(-time.Second),
			}}},
		}},
		Probe: status.ProbeStatus{Connections: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:40000")}},
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

// asking adds a balancer that asked a second ago and was told it five times.
func asking(change func(*status.Balancer)) func(*status.Status) {
	return func(s *status.Status) {
		b := status.Balancer{
			Node:     "lb1",
			Name:     "puppet/m1",
			Service:  monitor.Server,
			Seen:     now().Add(-time.Second),
			Source:   netip.MustParseAddr("198.51.100.1"),
			Checks:   50,
			Interval: 2,
			Codes:    answer.Codes{Drain: 503, Maint: 503},
			Answer:   status.Answer{Code: 503, Body: "drain"},
			Answers:  5,
			View:     &status.View{State: "DOWN", WeightTotal: 1},
		}
		change(&b)
		s.Balancers = append(s.Balancers, b)
	}
}

func jrubies(change func(*check.Finding)) func(*status.Status) {
	return func(s *status.Status) { change(&s.Services[0].Checks[0].Finding) }
}

func connection(peer string, idle time.Duration) tcp.Connection {
	return tcp.Connection{Peer: netip.MustParseAddrPort(peer), Idle: idle}
}

func leavingInTurn(s *status.Status) { s.Services[0].Leaving = drain.LeavingInTurn }

// service returns the status of a service, be it that of the master under another name.
func service(s status.Status, name string) status.ServiceStatus {
	v := s.Services[0]
	v.Name = name
	return v
}

// leaving returns what keeps a held service from being idle.
func leaving(s status.Status, name string, connections []tcp.Connection) []status.Obstacle {
	v := service(s, name)
	return append(leave.Untold(s, v), leave.Busy(s, v, connections)...)
}

func TestLeavingNamesEachObstacle(t *testing.T) {
	sending := func(b *status.Balancer) {
		b.View = &status.View{State: "UP", Step: 2, Steps: 3, Weight: 1, WeightTotal: 2, Sessions: 3}
	}
	untold := func(checks, answers int64) func(*status.Balancer) {
		return func(b *status.Balancer) {
			b.View, b.Checks, b.Answers, b.Listed = nil, checks, answers, checks < 5
		}
	}
	tests := []struct {
		name        string
		status      status.Status
		service     string
		connections []tcp.Connection
		want        []string
	}{
		{"no balancer, no agent", st(drain.Drain), monitor.Server, nil, []string{}},
		{"hold ended while the command waits", st(drain.Ready), monitor.Server, nil,
			[]string{"answer: /server is not held"}},
		{"hold ended, and a balancer without a view is told 200", st(drain.Ready, asking(untold(50, 5))),
			monitor.Server, nil, []string{"answer: /server is not held"}},
		{"balancer took it out", st(drain.Drain, asking(func(*status.Balancer) {})), monitor.Server, nil, []string{}},
		{"balancer still sends", st(drain.Drain, asking(sending)), monitor.Server, nil,
			[]string{"sending: lb1 still sends (UP 2/3, 3 sessions)"}},
		{"balancer that was told 200 again, since the pool needs the master",
			st(drain.Drain, asking(func(b *status.Balancer) { b.Answer.Code = 200 })),
			monitor.Server, nil, []string{"sending: lb1 still sends (DOWN, 0 sessions)"}},
		{"leaving, and a balancer never had another server",
			st(drain.Drain, leavingInTurn, asking(func(b *status.Balancer) { sending(b); b.View.Step, b.View.Steps = 0, 0 })),
			monitor.Server, nil, []string{}},
		{"leaving, and a balancer has just started", st(drain.Drain, leavingInTurn, asking(sending)),
			monitor.Server, nil, []string{"sending: lb1 still sends (UP 2/3, 3 sessions)"}},
		{"leaving, and a balancer has had another server",
			st(drain.Drain, leavingInTurn, asking(func(b *status.Balancer) { sending(b); b.OthersSeen = held() })),
			monitor.Server, nil, []string{"sending: lb1 still sends (UP 2/3, 3 sessions)"}},
		{"balancer has not asked since", st(drain.Drain, asking(func(b *status.Balancer) { b.Seen = held() })),
			monitor.Server, nil, []string{"unseen: lb1 has not asked since the hold changed (asks every 2s)"}},
		{"balancer that hides the hold from itself",
			st(drain.Drain, asking(func(b *status.Balancer) { sending(b); b.Codes.Drain, b.Seen = 200, held() })),
			monitor.Server, nil, []string{}},
		{"balancer that hides drain, in maint",
			st(drain.Maint, asking(func(b *status.Balancer) { sending(b); b.Codes.Drain = 200 })),
			monitor.Server, nil, []string{"sending: lb1 still sends (UP 2/3, 3 sessions)"}},
		{"balancer that hides maint", st(drain.Maint, asking(func(b *status.Balancer) { sending(b); b.Codes.Maint = 399 })),
			monitor.Server, nil, []string{}},
		{"balancer without a view, refused once", st(drain.Drain, asking(untold(50, 1))), monitor.Server, nil,
			[]string{"untold: lb1 was told 1 of 3 times; if it is not a balancer, set balancers in pmcheck.yaml"}},
		{"balancer without a view, refused twice", st(drain.Drain, asking(untold(50, 2))), monitor.Server, nil,
			[]string{"untold: lb1 was told 2 of 3 times; if it is not a balancer, set balancers in pmcheck.yaml"}},
		{"balancer without a view, refused three times", st(drain.Drain, asking(untold(50, 3))), monitor.Server, nil,
			[]string{}},
		{"new balancer without a view, refused once", st(drain.Drain, asking(untold(3, 1))), monitor.Server, nil,
			[]string{"untold: lb1 was told 1 of 3 times"}},
		{"balancer without a view that was told 200 again by a daemon that hung",
			st(drain.Drain, asking(untold(50, 50)), asking(func(b *status.Balancer) {
				untold(50, 50)(b)
				b.Node, b.Answer = "lb2", status.Answer{Code: 200, Body: "Puppet Server is running."}
			})), monitor.Server, nil,
			[]string{"untold: lb2 was told 0 of 3 times; if it is not a balancer, set balancers in pmcheck.yaml"}},
		{"daemon that has just started, and no balancer has asked",
			st(drain.Drain, func(s *status.Status) { s.Started = now().Add(-3 * time.Second) }), monitor.Server, nil,
			[]string{"unseen: the daemon has run for 3s, and no balancer has asked yet"}},
		{"daemon that has just started, and a balancer has asked",
			st(drain.Drain, func(s *status.Status) { s.Started = now().Add(-3 * time.Second) },
				asking(func(*status.Balancer) {})), monitor.Server, nil, []string{}},
		{"balancer of another service", st(drain.Drain, asking(func(b *status.Balancer) { sending(b); b.Service = "ca" })),
			monitor.Server, nil, []string{}},
		{"another service has no requests", st(drain.Drain, jrubies(func(f *check.Finding) {
			f.Pool.Borrowed = []check.Loan{{Request: "GET /puppet/v3/catalog/a", Seconds: 3}}
		})), "ca", []tcp.Connection{connection("192.0.2.1:5000", 0)}, []string{}},
		{"request under way", st(drain.Drain, jrubies(func(f *check.Finding) {
			f.Pool.Borrowed = []check.Loan{{Request: "GET /puppet/v3/catalog/a", Seconds: 3}}
		})), monitor.Server, nil, []string{"request: GET /puppet/v3/catalog/a for 3 s"}},
		{"requests wait", st(drain.Drain, jrubies(func(f *check.Finding) { f.Pool.Waiting = make([]check.Loan, 7) })),
			monitor.Server, nil, []string{"request: 7 requests wait"}},
		{"JRubies counted before the hold", st(drain.Drain, jrubies(func(f *check.Finding) { f.Checked = held() })),
			monitor.Server, nil, []string{"unknown: the JRubies have not been counted since the hold changed"}},
		{"JRubies of a dead server",
			st(drain.Drain, jrubies(func(f *check.Finding) { f.Checked = held() }),
				func(s *status.Status) { s.Probe.Reason = puppetclient.Refused }),
			monitor.Server, []tcp.Connection{connection("192.0.2.1:5000", 0)}, []string{}},
		{"connection in use", st(drain.Drain), monitor.Server,
			[]tcp.Connection{connection("192.0.2.1:5000", 3*time.Second)},
			[]string{"connection: 1 connection in use, from 192.0.2.1"}},
		{"connections in use", st(drain.Drain), monitor.Server,
			[]tcp.Connection{connection("192.0.2.1:5000", 0), connection("192.0.2.2:5000", 0)},
			[]string{"connection: 2 connections in use, one from 192.0.2.1"}},
		{"connection idle for longer than agents reuse it", st(drain.Drain), monitor.Server,
			[]tcp.Connection{connection("192.0.2.1:5000", 5*time.Second)}, []string{}},
		{"connection younger than the count of the JRubies",
			st(drain.Drain, jrubies(func(f *check.Finding) { f.Checked = now().Add(-20 * time.Second) })),
			monitor.Server, []tcp.Connection{connection("192.0.2.1:5000", 20*time.Second)},
			[]string{"connection: 1 connection in use, from 192.0.2.1"}},
		{"idle connection to a master that does not report its JRubies",
			st(drain.Drain, func(s *status.Status) { s.Services[0].Checks = nil }), monitor.Server,
			[]tcp.Connection{connection("192.0.2.1:5000", 10*time.Minute)},
			[]string{"connection: 1 connection in use, from 192.0.2.1"}},
		{"the daemon's own connection", st(drain.Drain), monitor.Server,
			[]tcp.Connection{connection("127.0.0.1:40000", 0)}, []string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assertObstacles(t, leaving(tt.status, tt.service, tt.connections), tt.want)
		})
	}
}

// TestUnattendedWaitsForSlowBalancers: HAProxy takes a server out after three checks that failed. A command that
// never got an answer knows no balancers, which does not mean that there are none.
func TestUnattendedWaitsForSlowBalancers(t *testing.T) {
	slow := asking(func(b *status.Balancer) { b.Interval = 20 })
	for _, tt := range []struct {
		status status.Status
		lost   time.Duration
		want   []string
	}{
		{status.Status{}, 6 * time.Second, []string{"untold: no daemon answers, so balancers may still send for 24s"}},
		{status.Status{}, 31 * time.Second, []string{}},
		{st(drain.Drain, slow), 31 * time.Second, []string{"untold: no daemon answers, so balancers may still send for 29s"}},
		{st(drain.Drain, slow), 61 * time.Second, []string{}},
	} {
		assertObstacles(t, leave.Unattended(tt.status, nil, tt.lost), tt.want)
	}
}

func TestUnattendedSeesEveryConnection(t *testing.T) {
	idle := []tcp.Connection{connection("192.0.2.1:5000", 20*time.Minute)}
	assertObstacles(t, leave.Unattended(status.Status{}, idle, time.Hour),
		[]string{"connection: 1 connection in use, from 192.0.2.1"})
	assertObstacles(t, leave.Unattended(status.Status{}, nil, 31*time.Second), []string{})
}

func TestReturningNamesEachObstacle(t *testing.T) {
	ready := func(s *status.Status) {
		s.Services[0].Answer = status.Answer{Code: 200, Body: "Puppet Server is running."}
	}
	up := func(b *status.Balancer) { b.View = &status.View{State: "UP", Weight: 1, WeightTotal: 2, Sessions: 3} }
	busy := func(s *status.Status) {
		s.Services[0].Verdict = check.Verdict{Health: check.Busy, Reason: check.JRubyBusy}
	}
	told := func(code int, checks, answers int64) func(*status.Balancer) {
		return func(b *status.Balancer) {
			b.View, b.Answer, b.Checks, b.Answers = nil, status.Answer{Code: code}, checks, answers
		}
	}
	tests := []struct {
		name   string
		status status.Status
		want   []string
	}{
		{"in service", st(drain.Ready, ready, asking(up)), []string{}},
		{"a daemon that has just started", st(drain.Ready, ready,
			func(s *status.Status) { s.Started = now().Add(-3 * time.Second) }),
			[]string{"unseen: the daemon has run for 3s, and no balancer has asked yet"}},
		{"not healthy", st(drain.Ready, func(s *status.Status) { s.Services[0].Answer.Body = "warming: jruby-warming" }),
			[]string{"answer: /server is warming: jruby-warming"}},
		{"held by others", st(drain.Drain, func(s *status.Status) {
			for _, holder := range []string{"backup", "upgrade"} {
				s.Holds = append(s.Holds, drain.Hold{Holder: holder, Mode: drain.Drain})
			}
			s.Holds = append(s.Holds, drain.Hold{Holder: "ca-only", Service: "ca", Mode: drain.Drain})
		}), []string{"answer: /server is held in drain by backup, upgrade"}},
		{"balancer still has it down", st(drain.Ready, ready, asking(func(*status.Balancer) {})),
			[]string{"not-sending: lb1 does not send yet (DOWN, 0 sessions)"}},
		{"balancer on the way up", st(drain.Ready, ready, asking(func(b *status.Balancer) {
			b.View = &status.View{State: "UP", Step: 1, Steps: 2}
		})), []string{"not-sending: lb1 does not send yet (UP 1/2, 0 sessions)"}},
		{"balancer has not asked since", st(drain.Ready, ready, asking(func(b *status.Balancer) { up(b); b.Seen = held() })),
			[]string{"unseen: lb1 has not asked since the hold changed (asks every 2s)"}},
		{"balancer without a view", st(drain.Ready, ready, asking(told(200, 50, 3))), []string{}},
		{"balancer without a view, told once", st(drain.Ready, ready, asking(told(200, 50, 1))),
			[]string{"untold: lb1 was told 1 of 3 times; if it is not a balancer, set balancers in pmcheck.yaml"}},
		{"balancer without a view, told by a daemon that hung", st(drain.Ready, ready, asking(told(503, 50, 9))),
			[]string{"untold: lb1 was told 0 of 3 times; if it is not a balancer, set balancers in pmcheck.yaml"}},
		{"balancer without a view that asks seldom", st(drain.Ready, ready, asking(func(b *status.Balancer) {
			told(200, 50, 1)(b)
			b.Interval = 30
		})), []string{}},
		{"busy, and the balancer has it down", st(drain.Ready, ready, busy, asking(func(*status.Balancer) {})),
			[]string{"not-sending: lb1 does not send yet (DOWN, 0 sessions)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assertObstacles(t, leave.Returning(tt.status, tt.status.Services[0]), tt.want)
		})
	}
}

func TestOnlyTheMasterMustBeHealthyToBeInService(t *testing.T) {
	with := func(code int, body string) status.Status {
		up := &status.View{State: "UP", Weight: 1, WeightTotal: 2}
		s := st(drain.Ready, asking(func(b *status.Balancer) { b.View = up }),
			asking(func(b *status.Balancer) { b.Node, b.Service = "lb2", "ca" })) // DOWN
		s.Services[0].Answer = status.Answer{Code: 200, Body: "Puppet Server is running."}
		ca := s.Services[0]
		ca.Name, ca.Answer = "ca", status.Answer{Code: code, Body: body}
		s.Services = append(s.Services, ca)
		return s
	}
	unhealthy, healthy := with(503, "unhealthy: refused"), with(200, "Puppet Server is running.")
	const down = "not-sending: lb2 does not send yet (DOWN, 0 sessions)"
	assertObstacles(t, leave.InService(unhealthy, ""), []string{})
	assertObstacles(t, leave.InService(healthy, ""), []string{down})
	assertObstacles(t, leave.InService(unhealthy, "ca"), []string{"answer: /ca is unhealthy: refused", down})
	assertObstacles(t, leave.InService(healthy, monitor.Server), []string{})
}

// The host of the only CA may leave for catalogs. On a host that serves nothing else, that
// would change nothing.
func TestTheServiceServerMayLeaveTheHostOfTheOnlyCA(t *testing.T) {
	ask := func(service string, weight, total int) func(*status.Status) {
		return asking(func(b *status.Balancer) {
			b.Service, b.Name = service, service+"/m1"
			b.View = &status.View{State: "UP", Weight: weight, WeightTotal: total}
		})
	}
	unseen := asking(func(b *status.Balancer) { b.View = nil })
	once := asking(func(b *status.Balancer) { b.View, b.Checks = nil, 1 })
	for _, tt := range []struct {
		name   string
		status status.Status
		want   bool
	}{
		{"two masters, one CA", st(drain.Ready, ask("server", 100, 200), ask("ca", 100, 100)), true},
		{"held for catalogs already", st(drain.Drain, ask("server", 100, 200), ask("ca", 100, 100)), true},
		{"a balancer without a view asks for the server", st(drain.Ready, unseen, ask("ca", 100, 100)), true},
		{"a client asked for the server once", st(drain.Ready, once, ask("ca", 100, 100)), false},
		{"the CA alone", st(drain.Ready, ask("ca", 100, 100)), false},
		{"the last server of both", st(drain.Ready, ask("server", 100, 100), ask("ca", 100, 100)), false},
		{"two of each: nothing is refused", st(drain.Ready, ask("server", 100, 200), ask("ca", 100, 200)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := leave.ServerMayLeave(tt.status); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// assertObstacles compares kinds and texts.
func assertObstacles(t *testing.T, obstacles []balancer.Obstacle, want []string) {
	t.Helper()
	got := []string{}
	for _, o := range obstacles {
		got = append(got, string(o.Kind)+": "+o.Text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// gate adds a gate that looked for the last time that long after the hold took effect.
func gate(closed bool, looked time.Duration) func(*status.Status) {
	return func(s *status.Status) {
		s.Gate = &status.GateStatus{
			Closed: closed,
			Looked: held().Add(looked),
			Reason: "its reason",
			Passes: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		}
	}
}

// lookedBefore adds a gate that runs, and looked last just before the hold took effect,
// which is a second ago.
func lookedBefore(s *status.Status) {
	gate(false, 0)(s)
	s.Time = held().Add(time.Second)
}

// sends adds a balancer at an address that still sends agents.
func sends(from string) func(*status.Status) {
	return asking(func(b *status.Balancer) {
		b.Source = netip.MustParseAddr(from)
		b.View = &status.View{State: "UP", Weight: 1, WeightTotal: 2}
	})
}

// TestGateCountsForLeavingAndReturning: what an open gate keeps from being idle, and what
// a closed one lets through.
func TestGateCountsForLeavingAndReturning(t *testing.T) {
	tests := []struct {
		name   string
		status status.Status
		want   []balancer.ObstacleKind
	}{
		{"closed, no balancer", st(drain.Drain, gate(true, time.Minute)), nil},
		{"not looked since", st(drain.Drain, lookedBefore), []balancer.ObstacleKind{balancer.ObstacleGate}},
		{"stays open", st(drain.Drain, gate(false, time.Minute)), []balancer.ObstacleKind{balancer.ObstacleGate}},
		{"hangs", st(drain.Drain, gate(true, time.Second)), nil},
		{"closed, a balancer that sends", st(drain.Drain, gate(true, time.Minute), sends("198.51.100.1")), nil},
		{"closed, one that passes", st(drain.Drain, gate(true, time.Minute), sends("192.0.2.9")),
			[]balancer.ObstacleKind{balancer.ObstacleSending}},
		{"closed, one on this host", st(drain.Drain, gate(true, time.Minute), sends("127.0.0.1")),
			[]balancer.ObstacleKind{balancer.ObstacleSending}},
		{"hangs, a balancer that sends", st(drain.Drain, gate(true, time.Second), sends("198.51.100.1")),
			[]balancer.ObstacleKind{balancer.ObstacleSending}},
		{"ready, still closed", st(drain.Ready, serving, gate(true, time.Minute)),
			[]balancer.ObstacleKind{balancer.ObstacleGate}},
		{"ready, open", st(drain.Ready, serving, gate(false, time.Minute)), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, _ := tt.status.Service(monitor.Server)
			var got []balancer.ObstacleKind
			for _, o := range leave.Standing(tt.status, v, nil) {
				got = append(got, o.Kind)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func serving(s *status.Status) { s.Services[0].Answer = status.Answer{Code: 200} }

// TestConnectionsBehindAClosedGate: an agent that is refused another connection needs the
// one that it has until its run ends; a client that may come back does not.
func TestConnectionsBehindAClosedGate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		peer   string
		closed bool
		idle   time.Duration
		used   bool
	}{
		{"an agent that works on its facts", "198.51.100.7:40000", true, 20 * time.Second, true},
		{"one that passes", "192.0.2.9:40000", true, 20 * time.Second, false},
		{"one that passes and asks", "192.0.2.9:40000", true, time.Second, true},
		{"the gate is open", "198.51.100.7:40000", false, 20 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := st(drain.Drain, gate(tt.closed, time.Minute))
			used := false
			for _, o := range leaving(s, monitor.Server, []tcp.Connection{connection(tt.peer, tt.idle)}) {
				used = used || o.Kind == balancer.ObstacleConnection
			}
			if used != tt.used {
				t.Errorf("in use: %v, want %v", used, tt.used)
			}
		})
	}
}

func TestBack(t *testing.T) {
	with := func(health check.Health, asked time.Duration) status.Status {
		return st(drain.Drain, func(s *status.Status) {
			s.Services[0].Verdict.Health, s.Probe.Asked = health, held().Add(asked)
		})
	}
	tests := []struct {
		name   string
		status status.Status
		want   bool
	}{
		{"healthy", with(check.Healthy, time.Second), true},
		{"busy", with(check.Busy, time.Second), true},
		{"warming", with(check.Warming, time.Second), false},
		{"unhealthy", with(check.Unhealthy, time.Second), false},
		{"healthy before the start", with(check.Healthy, -time.Second), false},
		{"nothing is known", status.Status{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := leave.Healthy(tt.status, held()); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestUnheard(t *testing.T) {
	running := func(d time.Duration) func(*status.Status) {
		return func(s *status.Status) { s.Started = s.Time.Add(-d) }
	}
	tests := []struct {
		name   string
		status status.Status
		want   bool
	}{
		{"no balancer for a minute", st(drain.Drain, running(time.Minute)), true},
		{"a daemon that has just started", st(drain.Drain, running(59*time.Second)), false},
		{"a balancer", st(drain.Drain, running(time.Hour), asking(func(*status.Balancer) {})), false},
		{"a balancer that asked long ago, as one does that has the master in MAINT", st(drain.Drain,
			running(time.Hour), func(s *status.Status) { s.BalancerAsked = s.Time.Add(-50 * time.Minute) }), false},
		{"a balancer that asked before any run of an agent began", st(drain.Drain,
			running(time.Hour), func(s *status.Status) { s.BalancerAsked = s.Time.Add(-time.Hour) }), true},
		{"a closed gate", st(drain.Drain, running(time.Hour), gate(true, time.Minute)), false},
		{"a gate that has not looked yet", st(drain.Drain, running(time.Hour), lookedBefore), false},
		{"a gate that stays open", st(drain.Drain, running(time.Hour), gate(false, time.Minute)), true},
		{"a gate that hangs", st(drain.Drain, running(time.Hour), gate(true, time.Second)), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := leave.Unheard(tt.status, held()); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}
