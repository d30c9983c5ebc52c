package status_test

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// held is when the hold of every test took effect, and now when it is looked at.
func held() time.Time { return time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC) }
func now() time.Time  { return held().Add(time.Minute) }

// st is a master in a mode whose JRubies were counted a second ago.
func st(mode drain.Mode, change ...func(*status.Status)) status.Status {
	s := status.Status{
		Time: now(),
		Services: []status.ServiceStatus{{
			Name:      drain.Master,
			Mode:      mode,
			ModeSince: held(),
			Answer:    status.Answer{Code: 503, Body: string(mode)},
			Checks: []check.Finding{{
				Check:   check.CheckJRuby,
				Pool:    &check.Pool{Size: 2, Free: 2},
				Checked: now().Add(-time.Second),
			}},
		}},
		Probe: status.ProbeStatus{
			Address:     "localhost:8140",
			Listener:    monitor.TheUnit,
			Connections: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:40000")},
		},
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

// asking adds a balancer that asked a second ago and was told it five times. It has the master out.
func asking(change ...func(*status.Balancer)) func(*status.Status) {
	return func(s *status.Status) {
		b := status.Balancer{
			Node:     "lb1",
			Name:     "puppet/m1",
			Service:  drain.Master,
			Seen:     now().Add(-time.Second),
			Source:   netip.MustParseAddr("198.51.100.1"),
			Checks:   50,
			Interval: 2,
			Answer:   status.Answer{Code: 503, Body: "drain"},
			Answers:  5,
			View:     &status.View{State: "DOWN", WeightTotal: 1},
		}
		for _, f := range change {
			f(&b)
		}
		s.Balancers, s.BalancerAsked = append(s.Balancers, b), b.Seen
	}
}

// What may be true of a balancer.
func sends(b *status.Balancer) {
	b.View = &status.View{State: "UP", Weight: 1, WeightTotal: 2, Sessions: 3}
}
func told200(b *status.Balancer)    { b.Answer.Code = 200 }
func noView(b *status.Balancer)     { b.View = nil }
func starts(b *status.Balancer)     { sends(b); b.View.Step, b.View.Steps = 2, 3 }
func pooled(b *status.Balancer)     { b.OthersSeen = held() }
func trusted(b *status.Balancer)    { b.Listed = true }
func alone(b *status.Balancer)      { b.View, b.Node = &status.View{State: "DOWN"}, "lb9" }
func lastStep(b *status.Balancer)   { sends(b); b.View.Step, b.View.Steps = 1, 3 }
func twins(b *status.Balancer)      { b.Twins = now() }
func unreadable(b *status.Balancer) { b.Unreadable = true }
func early(b *status.Balancer)      { b.Seen = held() }
func once(b *status.Balancer)       { b.Interval = 0 }
func turns(b *status.Balancer)      { b.Name = "0-turn/m1" }
func ofTheCA(b *status.Balancer)    { b.Service, b.Node = "ca", "lb2" }

func told(code int, checks, answers int64) func(*status.Balancer) {
	return func(b *status.Balancer) {
		b.View, b.Answer.Code, b.Checks, b.Answers = nil, code, checks, answers
	}
}

// What may be true of a master.
func serves(s *status.Status) {
	s.Services[0].Answer = status.Answer{Code: 200, Body: "Puppet Server is running."}
}
func leaving(s *status.Status) { s.Services[0].Departure.Leaving = drain.LeavingInTurn }

// upSeen, silent and downinter are numbers of seconds.
func upSeen(ago time.Duration) func(*status.Balancer) {
	return func(b *status.Balancer) { b.UpSeen = now().Add(-ago * time.Second) }
}

func silent(since time.Duration) func(*status.Balancer) {
	return func(b *status.Balancer) { b.Seen = now().Add(-since * time.Second) }
}

func downinter(every float64) func(*status.Balancer) {
	return func(b *status.Balancer) { b.DownInterval = every }
}

// crowd has the last balancer that is not remembered ask again within some time.
func crowd(within time.Duration) func(*status.Status) {
	return func(s *status.Status) { s.UnseenUntil = s.Time.Add(within) }
}
func isCA(s *status.Status) { s.Services[0].Name = "ca" }

func running(d time.Duration) func(*status.Status) {
	return func(s *status.Status) { s.ListensSince = s.Time.Add(-d) }
}

// believes has the setting balancers name these networks.
func believes(networks ...string) func(*status.Status) {
	return func(s *status.Status) {
		for _, n := range networks {
			s.Believed = append(s.Believed, netip.MustParsePrefix(n))
		}
	}
}

func jrubies(change func(*check.Finding)) func(*status.Status) {
	return func(s *status.Status) { change(&s.Services[0].Checks[0]) }
}

func borrowed(f *check.Finding) {
	f.Pool.Borrowed = []check.Loan{{Request: "GET /puppet/v3/catalog/a", Seconds: 3}}
}
func countedBefore(f *check.Finding) { f.Checked = held() }

func agents(idle time.Duration, peers ...string) (list []sockets.Connection) {
	for _, peer := range peers {
		list = append(list, sockets.Connection{Peer: netip.MustParseAddrPort(peer), Idle: idle})
	}
	return list
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

// closed, open and hung are gates that have looked since the hold took effect, or look no more.
func closed(s *status.Status) { gate(true, time.Minute)(s) }
func open(s *status.Status)   { gate(false, time.Minute)(s) }
func hung(s *status.Status)   { gate(true, time.Second)(s) }

// listener says whose the socket is that listens where the master is probed.
func listener(whose monitor.Owner) func(*status.Status) {
	return func(s *status.Status) { s.Probe.Listener = whose }
}

// counts has a balancer that has the master out count so many sessions.
func counts(sessions int) func(*status.Balancer) {
	return func(b *status.Balancer) { b.View.Sessions = sessions }
}

func from(source string) func(*status.Balancer) {
	return func(b *status.Balancer) { b.Source = netip.MustParseAddr(source) }
}

func texts(blockers []status.Blocker) string {
	var list []string
	for _, o := range blockers {
		list = append(list, string(o.Kind)+": "+o.Text)
	}
	return strings.Join(list, "; ")
}

func TestStandingNamesEachBlocker(t *testing.T) {
	const (
		running3s  = "unknown: the daemon has listened for 3s, and may not have heard every balancer"
		stillSends = "balancer: lb1/puppet still sends (UP, 3 sessions)"
		unseen     = "balancer: lb1/puppet has not asked since the hold changed (asks every 2s)"
		unlisted   = "; if it is not a balancer, set balancers in pmcheck.yaml"
		hidden     = "unknown: agents may be at work: nothing listens at localhost:8140 on this host, and not every " +
			"balancer says how many sessions it has (http-check send-state)"
		down     = "balancer: lb1/puppet does not send yet (DOWN, 0 sessions)"
		inUse    = "agent: 1 connection in use, from 192.0.2.1"
		gateOpen = "gate: the gate is open: its reason"
	)
	others := func(s *status.Status) {
		s.Holds = []drain.Hold{{Holder: "backup", Mode: drain.Drain}, {Holder: "upgrade", Mode: drain.Drain},
			{Holder: "ca-only", Service: "ca", Mode: drain.Drain}}
	}
	dead := func(s *status.Status) { s.Probe.Reason = puppetclient.Refused }
	unreported := func(s *status.Status) { s.Services[0].Checks = nil }
	hides := func(b *status.Balancer) { b.Codes.Drain = 200 }
	waiting := jrubies(func(f *check.Finding) { f.Pool.Waiting = make([]check.Loan, 7) })
	counted20sAgo := jrubies(func(f *check.Finding) { f.Checked = now().Add(-20 * time.Second) })
	const held, ready, agent = drain.Drain, drain.Ready, "192.0.2.1:5000"
	for _, tt := range []struct {
		name        string
		status      status.Status
		connections []sockets.Connection
		want        string
	}{
		{"out", st(held, asking()), nil, ""},
		{"sends", st(held, asking(sends)), nil, stillSends},
		{"is told 200 again, since the pool needs the master", st(held, asking(told200)), nil,
			"balancer: lb1/puppet still sends (DOWN, 0 sessions)"},
		{"leaving, and a view cannot be read", st(held, leaving, asking(told(200, 9, 9), unreadable)), nil,
			"unknown: balancer lb1/puppet sends a view that cannot be read: are its names longer than 128 characters?" +
				unlisted},
		{"firm, and a view cannot be read", st(held, asking(told(503, 9, 2), unreadable)), nil,
			"balancer: lb1/puppet was told 2 of 3 times" + unlisted},
		{"a balancer may ask that is not remembered", st(held, leaving, asking(), crowd(time.Second)), nil,
			"unknown: more balancers ask than are remembered: set balancers in pmcheck.yaml"},
		{"all that ask have asked again", st(held, leaving, asking(), crowd(0)), nil, ""},
		{"leaving, and a balancer never had another server", st(held, leaving, asking(sends)), nil, stillSends},
		{"leaving, and a balancer has just started", st(held, leaving, asking(starts)), nil,
			"balancer: lb1/puppet still sends (UP 2/3, 3 sessions)"},
		{"leaving, and a balancer has had another server", st(held, leaving, asking(sends, pooled)), nil, stillSends},
		{"has not asked since", st(held, asking(sends, early)), nil, unseen},
		{"has it DOWN since before the hold", st(held, asking(early)), nil, ""},
		{"was refused for the last time", st(held, asking(lastStep, silent(9))), nil,
			"balancer: lb1/puppet still sends (UP 1/3, 3 sessions)"},
		{"was refused for the last time, and has not asked for longer than usual", st(held, asking(lastStep, silent(11))),
			nil, ""},
		{"the same, with a downinter of half a minute", st(held, asking(lastStep, silent(11), downinter(30))), nil,
			"balancer: lb1/puppet still sends (UP 1/3, 3 sessions)"},
		{"the same, with a downinter of three minutes", st(held, asking(lastStep, silent(11), downinter(180))), nil, ""},
		{"not refused for the last time, and silent", st(held, asking(starts, silent(50))), nil,
			"balancer: lb1/puppet still sends (UP 2/3, 3 sessions)"},
		{"two HAProxies with one name, of which one said UP", st(held, asking(twins, upSeen(3))), nil,
			"balancer: lb1/puppet may still send: its checks come unevenly, as if two HAProxies had its name, and one had " +
				"the master UP 3s ago"},
		{"two HAProxies with one name, of which none has said UP lately", st(held, asking(twins, upSeen(11))), nil, ""},
		{"one HAProxy that said UP", st(held, asking(upSeen(3))), nil, ""},
		{"has asked once, and not since", st(held, asking(sends, early, once)), nil,
			"balancer: lb1/puppet has not asked since the hold changed"},
		{"hides the hold from itself", st(held, asking(sends, hides, early)), nil, ""},
		{"hides drain, in maint", st(drain.Maint, asking(sends, hides)), nil, stillSends},
		{"without a view, refused twice", st(held, asking(told(503, 50, 2))), nil,
			"balancer: lb1/puppet was told 2 of 3 times" + unlisted},
		{"without a view, refused three times", st(held, asking(told(503, 50, 3))), nil, ""},
		{"without a view, listed", st(held, asking(told(503, 3, 1), trusted)), nil,
			"balancer: lb1/puppet was told 1 of 3 times"},
		{"without a view, told 200 again by a daemon that hung", st(held, asking(told(200, 50, 50))), nil,
			"balancer: lb1/puppet was told 0 of 3 times" + unlisted},
		{"the daemon has just started", st(held, running(3*time.Second)), nil, running3s},
		{"the daemon has just started, and every client is believed",
			st(held, running(110*time.Second), believes("0.0.0.0/0", "::/0"), asking()), nil,
			"unknown: the daemon has listened for 1m50s, and may not have heard every balancer: " +
				"wait for 10s, or set balancers in pmcheck.yaml"},
		{"the daemon has listened for two minutes", st(held, running(2*time.Minute), believes("0.0.0.0/0"), asking()),
			nil, ""},
		{"the daemon has just started, and each listed balancer has asked",
			st(held, running(3*time.Second), believes("198.51.100.1/32"), asking(trusted)), nil, ""},
		{"the daemon has just started, and one listed balancer has not asked",
			st(held, running(3*time.Second), believes("198.51.100.1/32", "198.51.100.2/32"), asking(trusted)), nil, running3s},
		{"the daemon has just started, and which balancers of a network ask is not known",
			st(held, running(3*time.Second), believes("198.51.100.0/24"), asking(trusted)), nil, running3s},
		{"a client may prove to be a balancer", st(held, asking(told(503, 2, 2))), nil,
			"balancer: lb1/puppet was told 2 of 3 times" + unlisted},
		{"a client may prove to be a balancer, and has been told", st(held, asking(told(503, 4, 3))), nil, ""},
		{"a client has asked once, as a person does", st(held, asking(told(503, 1, 1))), nil, ""},
		{"ready, and a client may prove to be a balancer", st(ready, serves, asking(told(200, 2, 2))), nil, ""},
		{"of another service", st(held, asking(sends, ofTheCA)), nil, ""},
		{"another service has no requests", st(held, isCA, jrubies(borrowed)), agents(0, agent), ""},
		{"request under way", st(held, jrubies(borrowed)), nil, "agent: GET /puppet/v3/catalog/a for 3 s"},
		{"requests wait", st(held, waiting), nil, "agent: 7 requests wait"},
		{"JRubies counted before the hold", st(held, jrubies(countedBefore)), nil,
			"unknown: the JRubies have not been counted since the hold changed"},
		{"JRubies of a dead server", st(held, jrubies(countedBefore), dead), agents(0, agent), ""},
		{"connections in use", st(held), agents(3*time.Second, agent, "192.0.2.2:5000"),
			"agent: 2 connections in use, one from 192.0.2.1"},
		{"connection as idle as agents reuse it", st(held), agents(sockets.Reuse, agent), inUse},
		{"connection idle for longer", st(held), agents(sockets.Reuse+1, agent), ""},
		{"connection younger than the count of the JRubies", st(held, counted20sAgo), agents(20*time.Second, agent), inUse},
		{"idle connection, and the JRubies are not reported", st(held, unreported), agents(10*time.Minute, agent), inUse},
		{"connection of a balancer with this only server, as any client may be",
			st(held, leaving, asking(alone, from("192.0.2.1"))),
			agents(0, agent), inUse},
		{"connection of a listed balancer with this only server",
			st(held, leaving, asking(alone, trusted, from("192.0.2.1"))), agents(0, agent), ""},
		{"connection of a listed balancer with this only server, which is out by force",
			st(held, asking(alone, trusted, from("192.0.2.1"))), agents(0, agent), inUse},
		{"connection of a HAProxy with an only server and a pool",
			st(held, leaving, asking(alone, trusted, from("192.0.2.1")), asking(trusted, pooled, from("192.0.2.1"))),
			agents(0, agent), inUse},
		{"the daemon's own connection", st(held), agents(0, "127.0.0.1:40000"), ""},

		{"a session, and the unit listens here", st(held, asking(counts(1))), nil, ""},
		{"a session, and nothing listens here", st(held, listener(monitor.Nobody), asking(counts(1))), nil,
			"agent: lb1/puppet counts 1 session, and this host sees 0 connections"},
		{"sessions, and a forwarder listens here", st(held, listener(monitor.NotKnown), asking(counts(2))),
			agents(time.Minute, agent), "agent: lb1/puppet counts 2 sessions, and this host sees 1 connection"},
		{"the daemon's own connection to a forwarder", st(held, listener(monitor.Another), asking(counts(1))),
			agents(0, "127.0.0.1:40000"), "agent: lb1/puppet counts 1 session, and this host sees 0 connections"},
		{"an idle session that is seen here", st(held, listener(monitor.NotKnown), asking(counts(1))),
			agents(time.Minute, agent), ""},
		{"a session of a listed balancer with this only server",
			st(held, leaving, listener(monitor.Nobody), asking(alone, trusted, counts(1))), nil, ""},
		{"a session of a listed balancer with this only server, which is out by force",
			st(held, listener(monitor.Nobody), asking(alone, trusted, counts(1))), nil,
			"agent: lb9/puppet counts 1 session, and this host sees 0 connections"},
		{"no session, and nothing listens here", st(held, listener(monitor.Nobody), asking()), nil, ""},
		{"nothing listens here, and no balancer counts", st(held, listener(monitor.Nobody)), nil, hidden},
		{"nothing listens here, and a backend for turns alone counts",
			st(held, listener(monitor.Nobody), asking(turns)), nil, hidden},
		{"nothing listens here, and one balancer does not count",
			st(held, listener(monitor.Nobody), asking(), asking(told(503, 50, 3))), nil, hidden},
		{"nothing listens here, and the master is stopped", st(held, listener(monitor.Nobody), dead), nil, ""},
		{"a forwarder may listen here, and no balancer counts", st(held, listener(monitor.NotKnown)), nil, ""},

		{"gate closed", st(held, closed), nil, ""},
		{"gate has not looked since", st(held, lookedBefore), nil, "gate: the gate has not looked since the hold changed"},
		{"gate open", st(held, open), nil, gateOpen},
		{"gate hangs", st(held, hung), nil, ""},
		{"gate closed, sends", st(held, closed, asking(sends)), nil, ""},
		{"gate closed, and the pool needs the master again", st(held, closed, asking(sends, told200)), nil, stillSends},
		{"gate closed, one that passes", st(held, closed, asking(sends, from("192.0.2.9"))), nil, stillSends},
		{"gate closed, one on this host", st(held, closed, asking(sends, from("127.0.0.1"))), nil, stillSends},
		{"gate hangs, sends", st(held, hung, asking(sends)), nil, stillSends},
		{"gate closed, an agent that works on its facts", st(held, closed),
			agents(20*time.Second, "198.51.100.7:40000"), "agent: 1 connection in use, from 198.51.100.7"},
		{"gate closed, an agent that has been silent for an hour", st(held, closed),
			agents(time.Hour, "198.51.100.7:40000"), "agent: 1 connection in use, from 198.51.100.7"},
		{"gate closed, a connection that Jetty must have closed", st(held, closed),
			agents(time.Hour+1, "198.51.100.7:40000"), ""},
		{"gate closed, an idle agent that passes", st(held, closed), agents(20*time.Second, agent), ""},
		{"gate closed, an agent that passes and asks", st(held, closed), agents(time.Second, agent), inUse},

		{"ready", st(ready, serves, asking(sends)), nil, ""},
		{"ready, the daemon has just started", st(ready, serves, running(3*time.Second)), nil, running3s},
		{"ready, not healthy", st(ready), nil, "answer: /server is ready"},
		{"ready, still out", st(ready, serves, asking()), nil, down},
		{"ready, on the way up", st(ready, serves, asking(starts)), nil,
			"balancer: lb1/puppet does not send yet (UP 2/3, 3 sessions)"},
		{"ready, has not asked since", st(ready, serves, asking(sends, early)), nil, unseen},
		{"ready, without a view", st(ready, serves, asking(told(200, 50, 3))), nil, ""},
		{"ready, without a view, told once", st(ready, serves, asking(told(200, 50, 1))), nil,
			"balancer: lb1/puppet was told 1 of 3 times" + unlisted},
		{"ready, gate closed", st(ready, serves, closed), nil, "gate: the gate is still closed: its reason"},
		{"ready, gate open", st(ready, serves, open), nil, ""},
	} {
		v := tt.status.Services[0]
		list := tt.status.Returning(v)
		if v.Mode != ready {
			list = append(tt.status.Untold(v, status.HeardAll), tt.status.Busy(v, tt.connections)...)
		}
		if got := texts(list); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
	ended, kept := st(ready, serves, asking(told(200, 50, 5))), st(held, others)
	got := texts(ended.Untold(ended.Services[0], 0))
	if got != "answer: the daemon does not act on the hold of /server yet" {
		t.Errorf("a departure after the end of its hold: %s", got)
	}
	const byOthers = "answer: /server is held in drain by backup, upgrade"
	if got := texts(kept.Returning(kept.Services[0])); got != byOthers {
		t.Errorf("a return while others hold: %s", got)
	}
}

// TestAStatusSaysWhatBalancersAreTold: while a hold is leaving, those that keep the master are told to use it.
func TestAStatusSaysWhatBalancersAreTold(t *testing.T) {
	for _, tt := range []struct {
		name      string
		leaving   drain.Leaving
		balancers balancer.List
		want      int
	}{
		{"leaving, and a balancer keeps it", drain.LeavingInTurn, st(drain.Drain, asking(sends, told200)).Balancers, 200},
		{"leaving, and a balancer that cannot be read keeps it", drain.LeavingInTurn,
			st(drain.Drain, asking(told200, noView, unreadable)).Balancers, 200},
		{"leaving, and all have let go", drain.LeavingInTurn, st(drain.Drain, asking(sends)).Balancers, 503},
		{"leaving, and all are blind", drain.LeavingInTurn, st(drain.Drain, asking(told200, noView)).Balancers, 503},
		{"firm", drain.Firm, st(drain.Drain, asking(sends, told200)).Balancers, 503},
	} {
		store := drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
		hold := func(drain.Hold) (drain.Hold, error) {
			return drain.Hold{Mode: drain.Drain, Leaving: tt.leaving}, nil
		}
		if _, err := store.Change("operator", drain.EveryService, hold); err != nil {
			t.Fatal(err)
		}
		settings := config.Default()
		s := status.New(status.Facts{
			State: &monitor.State{
				Published: now(),
				Holds:     store.Read(),
				Services: []monitor.Service{{
					Name:    drain.Master,
					Verdict: check.Verdict{Health: check.Healthy, Expires: now().Add(time.Minute)},
				}},
			},
			Settings:  &settings,
			Balancers: tt.balancers,
		}, now())
		if got := s.Master().Answer.Code; got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestADepartureSaysHowFarAServiceIs: of a service that is ready, what a drain would meet.
func TestADepartureSaysHowFarAServiceIs(t *testing.T) {
	missesOne := func(b *status.Balancer) {
		sends(b)
		b.OthersSeen, b.OthersWeight, b.UnitWeight = held(), 2, 1
	}
	alone := func(b *status.Balancer) {
		sends(b)
		b.View.WeightTotal = b.View.Weight
	}
	takesTurns := func(b *status.Balancer) { b.Name = balancer.TurnBackend + "/m1" }
	used := &status.BudgetStatus{Usage: budget.Usage{Allowed: 1, Out: 1}, Reachable: true}
	noConnection := func() ([]sockets.Connection, error) { return nil, nil }
	notKnown := func() ([]sockets.Connection, error) { return nil, errors.New("netlink") }
	const down = "balancer: lb1/puppet does not send yet (DOWN, 0 sessions)"
	const byHold = "answer: /server is held in drain by operator"
	for _, tt := range []struct {
		name        string
		service     drain.Service // if it is not the master
		mode        drain.Mode
		leaving     drain.Leaving
		balancers   balancer.List
		budget      *status.BudgetStatus
		connections func() ([]sockets.Connection, error)
		young       bool // the daemon has just started
		is          string
		blockers    string
		back        string
	}{
		{
			name:      "ready",
			balancers: st(drain.Ready, asking(missesOne)).Balancers,
			blockers:  "needed: balancer lb1/puppet has been missing a server for 1m (the others weigh 1 of 2)",
		},
		{
			name:      "ready, and the budget is used up",
			balancers: st(drain.Ready, asking(missesOne)).Balancers,
			budget:    used,
			blockers:  "budget: 0 of 1",
		},
		{
			name:      "ready, the only server",
			balancers: st(drain.Ready, asking(alone)).Balancers,
			is:        "only server",
			blockers:  "only_server: balancer lb1/puppet has no other server than m1",
		},
		{
			name:      "ready, and only the backend for turns lacks its other servers, by mistake",
			balancers: st(drain.Ready, asking(missesOne), asking(alone, takesTurns)).Balancers,
			blockers:  "needed: balancer lb1/puppet has been missing a server for 1m (the others weigh 1 of 2)",
		},
		{
			name:     "ready, and the daemon may not have heard every balancer",
			young:    true,
			blockers: "unknown: the daemon has listened for 20s, and may not have heard every balancer",
		},
		{
			name:      "ready, and a balancer does not send yet",
			balancers: st(drain.Ready, asking()).Balancers,
			back:      down,
		},
		{
			name:        "leaving, and a balancer keeps it",
			mode:        drain.Drain,
			leaving:     drain.LeavingInTurn,
			balancers:   st(drain.Drain, asking(missesOne, told200)).Balancers,
			blockers:    "needed: balancer lb1/puppet has been missing a server for 1m (the others weigh 1 of 2)",
			back:        byHold,
			connections: notKnown,
		},
		{
			name:        "leaving, the only server",
			mode:        drain.Drain,
			leaving:     drain.LeavingInTurn,
			balancers:   st(drain.Drain, asking(alone, told200)).Balancers,
			is:          "only server",
			blockers:    "only_server: balancer lb1/puppet has no other server than m1; unknown: netlink",
			back:        byHold,
			connections: notKnown,
		},
		{
			name:        "after its turn, and a balancer still sends",
			mode:        drain.Drain,
			leaving:     drain.LeavingBesideSpare,
			balancers:   st(drain.Drain, asking(sends)).Balancers,
			blockers:    "balancer: lb1/puppet still sends (UP, 3 sessions); unknown: netlink",
			back:        byHold,
			connections: notKnown,
		},
		{
			name:        "held, and a balancer still sends",
			mode:        drain.Drain,
			balancers:   st(drain.Drain, asking(sends)).Balancers,
			connections: notKnown,
			blockers:    "balancer: lb1/puppet still sends (UP, 3 sessions)",
			back:        byHold,
		},
		{
			name:        "held, and let go",
			mode:        drain.Drain,
			balancers:   st(drain.Drain, asking()).Balancers,
			connections: noConnection,
			is:          "out idle",
			back:        byHold,
		},
		{
			name:        "held, and an agent is at work",
			mode:        drain.Drain,
			connections: func() ([]sockets.Connection, error) { return agents(time.Second, "192.0.2.1:5000"), nil },
			is:          "out",
			blockers:    "agent: 1 connection in use, from 192.0.2.1",
			back:        byHold,
		},
		{
			name:        "held, an agent is at work, and the daemon has just started",
			mode:        drain.Drain,
			young:       true,
			connections: func() ([]sockets.Connection, error) { return agents(time.Second, "192.0.2.1:5000"), nil },
			blockers: "unknown: the daemon has listened for 20s, and may not have heard every balancer; " +
				"agent: 1 connection in use, from 192.0.2.1",
			back: byHold,
		},
		{
			name:        "held, and the kernel does not tell",
			mode:        drain.Drain,
			connections: notKnown,
			is:          "out",
			blockers:    "unknown: netlink",
			back:        byHold,
		},
		{
			name:     "held, and the kernel is not asked",
			mode:     drain.Drain,
			is:       "out",
			blockers: "unknown: the connections of the master are not asked for",
			back:     byHold,
		},
		{
			name:        "a service beside the master has no connections",
			service:     "ca",
			mode:        drain.Drain,
			connections: notKnown,
			is:          "out idle",
			back:        "answer: /ca is held in drain by operator",
		},
	} {
		store := drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
		if tt.mode == drain.Drain {
			set := func(drain.Hold) (drain.Hold, error) { return drain.Hold{Mode: tt.mode, Leaving: tt.leaving}, nil }
			if _, err := store.Change("operator", drain.EveryService, set); err != nil {
				t.Fatal(err)
			}
		}
		settings := config.Default()
		settings.Balancers = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
		facts := status.Facts{
			State: &monitor.State{
				Published: now(),
				Listener:  monitor.TheUnit,
				Holds:     store.Read(),
				Services: []monitor.Service{{
					Name:      cmp.Or(tt.service, drain.Master),
					Verdict:   check.Verdict{Health: check.Healthy, Expires: now().Add(time.Minute)},
					ModeSince: held(),
				}},
			},
			Settings:    &settings,
			Balancers:   tt.balancers,
			Budget:      tt.budget,
			Connections: tt.connections,
		}
		if tt.young {
			facts.ListensSince = now().Add(-20 * time.Second)
		}

		d := status.New(facts, now()).Services[0].Departure
		var is []string
		for says, isTrue := range map[string]bool{"out": d.Out, "idle": d.Idle, "only server": d.OnlyServer} {
			if isTrue {
				is = append(is, says)
			}
		}
		slices.Sort(is)
		slices.Reverse(is)
		got := []string{strings.Join(is, " "), texts(d.Blockers), texts(d.Return)}
		if want := []string{tt.is, tt.blockers, tt.back}; !slices.Equal(got, want) {
			t.Errorf("%s: %q\nwant %q", tt.name, got, want)
		}
	}
}

// TestABlockerOfABalancerSaysWhyItKeepsTheMaster: as far as the daemon, which has asked the rule, says it.
func TestABlockerOfABalancerSaysWhyItKeepsTheMaster(t *testing.T) {
	d := status.Departure{Blockers: []status.Blocker{
		{Text: "lb1 misses a server", Of: "lb1"},
		{Text: "an agent"},
		{Text: "lb9 is the only one", Of: "lb9"},
	}}
	untold := []status.Blocker{
		{Text: "the daemon is young"},
		{Text: "lb1 still sends", Of: "lb1"},
		{Text: "lb2 still sends", Of: "lb2"},
	}
	const want = ": the daemon is young; : lb1 misses a server; : lb2 still sends"
	if got := texts(d.Explained(untold)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if list := d.Explained(nil); len(list) > 0 {
		t.Errorf("nothing is in the way, and it explains %v", list)
	}
}

// TestUnattended: HAProxy takes a server out after three checks that failed.
func TestUnattended(t *testing.T) {
	for lost, want := range map[time.Duration]string{
		6 * time.Second:  "balancer: no daemon answers, so balancers may still send for 24s",
		31 * time.Second: "",
	} {
		if got := texts(status.Unattended(lost)); got != want {
			t.Errorf("after %s: %s\nwant %s", lost, got, want)
		}
	}

	const want = "agent: 1 connection in use, from 192.0.2.1"
	if got := texts(status.Status{}.AtWork(agents(20*time.Minute, "192.0.2.1:5000"), drain.Firm)); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// A script takes the next master out as soon as this one is in service: with a slot that is free. Of several
// services, the master alone must be healthy.
func TestInServiceMeansThatTheNextMasterMayLeave(t *testing.T) {
	slot := func(change ...func(*status.BudgetStatus)) func(*status.Status) {
		return func(s *status.Status) {
			s.Budget = &status.BudgetStatus{Usage: budget.Usage{HasSlot: true}, Reachable: true, Asked: now()}
			for _, f := range change {
				f(s.Budget)
			}
		}
	}
	noDatabase := func(b *status.BudgetStatus) { b.Reachable = false }
	free := func(b *status.BudgetStatus) { b.HasSlot = false }
	behind := func(b *status.BudgetStatus) { b.Asked = held().Add(-time.Second) }
	ca := func(code int) func(*status.Status) {
		return func(s *status.Status) {
			v := s.Services[0]
			v.Name, v.Answer = "ca", status.Answer{Code: code, Body: "unhealthy: refused"}
			s.Services = append(s.Services, v)
			asking(ofTheCA)(s) // DOWN
		}
	}
	const (
		kept   = "budget: its slot in the budget is free once it has been back for 30s"
		caDown = "balancer: lb2/puppet does not send yet (DOWN, 0 sessions)"
	)
	up := asking(sends)
	for _, tt := range []struct {
		name    string
		status  status.Status
		service drain.Service
		want    string
	}{
		{"no budget", st(drain.Ready, serves, up), "", ""},
		{"its slot is free", st(drain.Ready, serves, up, slot(free)), "", ""},
		{"it has its slot", st(drain.Ready, serves, up, slot()), drain.Master, kept},
		{"the CA needs no slot", st(drain.Ready, serves, up, slot()), "ca", ""},
		{"the database does not answer", st(drain.Ready, serves, up, slot(noDatabase)), "", ""},
		{"a balancer does not send yet", st(drain.Ready, serves, asking(), slot()), "",
			"balancer: lb1/puppet does not send yet (DOWN, 0 sessions)"},
		{"the database was not asked since", st(drain.Ready, serves, up, slot(free, behind)), "", kept},
		{"the CA is not healthy", st(drain.Ready, serves, up, ca(503)), "", ""},
		{"the CA is healthy", st(drain.Ready, serves, up, ca(200)), "", caDown},
		{"the CA is waited for", st(drain.Ready, serves, up, ca(503)), "ca", "answer: /ca is unhealthy: refused; " + caDown},
		{"the CA is not waited for", st(drain.Ready, serves, up, ca(200)), drain.Master, ""},
	} {
		for i, v := range tt.status.Services {
			tt.status.Services[i].Departure.Return = tt.status.Returning(v)
		}
		if got := texts(blocker.Counting(tt.status.ReturnBlockers(tt.service), tt.status.Time)); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestAMasterServesSinceAProbeHasShownIt(t *testing.T) {
	for _, tt := range []struct {
		health check.Health
		asked  time.Duration
		want   bool
	}{
		{check.Healthy, time.Second, true},
		{check.Warming, time.Second, false},
		{check.Healthy, -time.Second, false}, // before the start
	} {
		s := st(drain.Drain)
		s.Services[0].Verdict.Health, s.Probe.Asked = tt.health, held().Add(tt.asked)
		if got := s.ServesSince(held()); got != tt.want {
			t.Errorf("%s after %s: %v, want %v", tt.health, tt.asked, got, tt.want)
		}
	}
}

func TestUnheard(t *testing.T) {
	asked := func(ago time.Duration) func(*status.Status) {
		return func(s *status.Status) { s.BalancerAsked = s.Time.Add(-ago) }
	}
	long := running(time.Hour)
	for _, tt := range []struct {
		name   string
		status status.Status
		want   bool
	}{
		{"no balancer for a while", st(drain.Drain, running(2*time.Minute)), true},
		{"a balancer that asks every 30 s or more may come", st(drain.Drain, running(2*time.Minute-1)), false},
		{"a balancer", st(drain.Drain, long, asking()), false},
		{"one that asked long ago, as with the master in MAINT", st(drain.Drain, long, asked(50*time.Minute)), false},
		{"one that asked before any run of an agent began", st(drain.Drain, long, asked(time.Hour)), true},
		{"the one in use may not be listed", st(drain.Drain, long, asked(time.Hour), believes("192.0.2.5/32")), false},
		{"a closed gate", st(drain.Drain, long, closed), false},
		{"a gate that has not looked yet", st(drain.Drain, long, lookedBefore), false},
		{"a gate that stays open", st(drain.Drain, long, open), true},
		{"a gate that hangs", st(drain.Drain, long, hung), true},
	} {
		if len(tt.status.Believed) == 0 {
			believes("0.0.0.0/0", "::/0")(&tt.status)
		}
		if got := tt.status.Unheard(held()); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestOverBudgetNamesTheMastersThatAreOut(t *testing.T) {
	slot := budget.Slot{Master: "puppet2", Since: now().Add(-3 * time.Hour), By: "alice", Reason: "kernel"}
	lapsed := slot
	lapsed.Lapsed = true
	asked := func(allowed int, held bool) *status.BudgetStatus {
		view := budget.Usage{Allowed: allowed, Out: 1, HasSlot: held, Slots: []budget.Slot{lapsed, slot}}
		return &status.BudgetStatus{Usage: view, Reachable: true}
	}
	used := "budget: " + slot.String() + "; 1 of 1"
	for _, tt := range []struct {
		name    string
		budget  *status.BudgetStatus
		service drain.Service
		want    string
	}{
		{"no budget", nil, "", ""},
		{"free", asked(2, false), "", ""},
		{"used up", asked(1, false), "server", used},
		{"the CA needs no slot", asked(1, false), "ca", ""},
		{"has a slot", asked(1, true), "", ""},
		{"unreachable", &status.BudgetStatus{Error: "no answer within 2s"}, "", "unknown: no answer within 2s"},
	} {
		got := texts(status.Status{Time: now(), Budget: tt.budget}.OverBudget(tt.service))
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
