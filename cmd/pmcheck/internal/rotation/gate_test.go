package rotation_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// gate adds a gate that looked for the last time that long after the hold took effect.
func gate(closed bool, looked time.Duration) func(*api.Status) {
	return func(s *api.Status) {
		s.Gate = &api.GateStatus{
			Closed: closed,
			Looked: held().Add(looked),
			Reason: "its reason",
			Passes: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		}
	}
}

// lookedBefore adds a gate that runs, and looked last just before the hold took effect,
// which is a second ago.
func lookedBefore(s *api.Status) {
	gate(false, 0)(s)
	s.Time = held().Add(time.Second)
}

// sends adds a balancer at an address that still sends agents.
func sends(from string) func(*api.Status) {
	return asking(func(b *api.Balancer) {
		b.Source = netip.MustParseAddr(from)
		b.View = &api.View{State: "UP", Weight: 1, WeightTotal: 2}
	})
}

// TestGateCountsForLeavingAndReturning: what an open gate keeps from being idle, and what
// a closed one lets through.
func TestGateCountsForLeavingAndReturning(t *testing.T) {
	tests := []struct {
		name   string
		status api.Status
		want   []api.ObstacleKind
	}{
		{"closed, no balancer", status(drain.Drain, gate(true, time.Minute)), nil},
		{"not looked since", status(drain.Drain, lookedBefore), []api.ObstacleKind{api.ObstacleGate}},
		{"stays open", status(drain.Drain, gate(false, time.Minute)), []api.ObstacleKind{api.ObstacleGate}},
		{"hangs", status(drain.Drain, gate(true, time.Second)), nil},
		{"closed, a balancer that sends", status(drain.Drain, gate(true, time.Minute), sends("198.51.100.1")), nil},
		{"closed, one that passes", status(drain.Drain, gate(true, time.Minute), sends("192.0.2.9")),
			[]api.ObstacleKind{api.ObstacleSending}},
		{"closed, one on this host", status(drain.Drain, gate(true, time.Minute), sends("127.0.0.1")),
			[]api.ObstacleKind{api.ObstacleSending}},
		{"hangs, a balancer that sends", status(drain.Drain, gate(true, time.Second), sends("198.51.100.1")),
			[]api.ObstacleKind{api.ObstacleSending}},
		{"ready, still closed", status(drain.Ready, serving, gate(true, time.Minute)), []api.ObstacleKind{api.ObstacleGate}},
		{"ready, open", status(drain.Ready, serving, gate(false, time.Minute)), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, _ := tt.status.Service(monitor.Server)
			var got []api.ObstacleKind
			for _, o := range rotation.Standing(tt.status, v, nil) {
				got = append(got, o.Kind)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func serving(s *api.Status) { s.Services[0].Answer = api.Answer{Code: 200} }

// TestAloneNeedsTheWholeFleet: only a fleet of which each other master is known not to
// serve keeps the gate open.
func TestAloneNeedsTheWholeFleet(t *testing.T) {
	others := func(o api.OthersStatus) func(*api.Status) {
		return func(s *api.Status) {
			if o.Asked.IsZero() {
				o.Asked = now()
			}
			s.Others = &o
		}
	}
	slot := func(reachable, lapsed bool) func(*api.Status) {
		return func(s *api.Status) {
			s.Budget = &api.BudgetStatus{Reachable: reachable, Slots: []api.Slot{{Master: "m3.example.com", Lapsed: lapsed}}}
		}
	}
	out, unknown := []string{"m2:9200"}, []string{"m3.example.com"}
	tests := []struct {
		name   string
		status api.Status
		want   string
	}{
		{"nothing asked", status(drain.Drain), ""},
		{"a fleet of this master", status(drain.Drain, others(api.OthersStatus{})), ""},
		{"all out", status(drain.Drain, others(api.OthersStatus{Out: out})),
			"no other master of the fleet serves: m2:9200"},
		{"asked long ago", status(drain.Drain, others(api.OthersStatus{Asked: held(), Out: out})), ""},
		{"one serves", status(drain.Drain, others(api.OthersStatus{Serving: []string{"m4"}, Out: out})), ""},
		{"one does not say whether it serves", status(drain.Drain, others(api.OthersStatus{Out: out, Unknown: unknown})), ""},
		{"that one has a slot", status(drain.Drain, others(api.OthersStatus{Out: out, Unknown: unknown}), slot(true, false)),
			"no other master of the fleet serves: m2:9200, m3.example.com"},
		{"a lapsed slot", status(drain.Drain, others(api.OthersStatus{Unknown: unknown}), slot(true, true)), ""},
		{"an old answer of the budget", status(drain.Drain, others(api.OthersStatus{Unknown: unknown}), slot(false, false)),
			""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := rotation.Alone(tt.status); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestTurnsBehindGates: where agents have no balancer, masters take turns by what the fleet
// says, each at the beginning of a window of its own.
func TestTurnsBehindGates(t *testing.T) {
	fleet := func(missing ...string) func(*api.Status) {
		return func(s *api.Status) {
			gate(false, time.Minute)(s)
			s.Certname, s.Fleet, s.Started = "m1.example.com", []string{"m1", "m2", "m3"}, held()
			s.Others = &api.OthersStatus{Asked: now(), Serving: []string{"m2", "m3"}, Missing: missing}
			s.Services[0].Verdict.Health = check.Healthy
		}
	}
	fails := func(health check.Health, since time.Duration) func(*api.Status) {
		return func(s *api.Status) {
			s.Services[0].Verdict = check.Verdict{Health: health, Since: now().Add(-since)}
			s.Services[0].ServingSince = now().Add(-since)
			if s.Services[0].Mode != drain.Ready {
				s.Services[0].ServingSince = held()
			}
		}
	}
	slow := func(s *api.Status) { s.Services[0].Verdict.Reason = check.Timeout }
	without := func(change func(*api.Status)) func(*api.Status) {
		return func(s *api.Status) { fleet("m2")(s); change(s) }
	}
	for _, tt := range []struct {
		name   string
		status api.Status
		want   []api.ObstacleKind
	}{
		{"all serve", status(drain.Ready, fleet()), []api.ObstacleKind{api.ObstacleWindow}},
		{"one is expected back", status(drain.Ready, fleet("m2")), []api.ObstacleKind{api.ObstacleTurn}},
		{"no gate", status(drain.Ready, without(func(s *api.Status) { s.Gate, s.Others = nil, nil })), nil},
		{"a gate that restarts", status(drain.Ready, without(func(s *api.Status) { s.Gate = nil })),
			[]api.ObstacleKind{api.ObstacleTurn}},
		{"a gate that hangs", status(drain.Ready, without(gate(false, time.Second))), []api.ObstacleKind{api.ObstacleTurn}},
		{"held, and the closed gate hangs", status(drain.Drain, without(gate(true, time.Second))),
			[]api.ObstacleKind{api.ObstacleTurn}},
		{"asked long ago", status(drain.Ready, without(func(s *api.Status) { s.Others.Asked = held() })), nil},
		{"held behind a closed gate", status(drain.Drain, without(gate(true, time.Minute))), nil},
		{"held, and the gate is open", status(drain.Drain, fleet("m2")), []api.ObstacleKind{api.ObstacleTurn}},
		{"this one has failed", status(drain.Ready, fleet("m2"), fails(check.Unhealthy, 11*time.Second)), nil},
		{"this one fails for a moment", status(drain.Ready, fleet("m2"), fails(check.Unhealthy, 9*time.Second)),
			[]api.ObstacleKind{api.ObstacleTurn}},
		{"this one does not answer in time", status(drain.Ready, fleet("m2"), fails(check.Unhealthy, 59*time.Second), slow),
			[]api.ObstacleKind{api.ObstacleTurn}},
		{"the same, for longer", status(drain.Ready, fleet("m2"), fails(check.Unhealthy, 61*time.Second), slow), nil},
		{"pmcheck cannot ask this one", status(drain.Ready, fleet("m2"), fails(check.Unknown, time.Hour)),
			[]api.ObstacleKind{api.ObstacleTurn}},
		{"this one starts", status(drain.Ready, fleet("m2"), fails(check.Warming, 11*time.Second)), nil},
		{"this one is busy", status(drain.Ready, fleet("m2"), fails(check.Busy, time.Hour)),
			[]api.ObstacleKind{api.ObstacleTurn}},
		{"held behind an open gate, and has failed", status(drain.Drain, fleet("m2"), fails(check.Unhealthy, 11*time.Second)),
			nil},
		{"the same, for a moment", status(drain.Drain, fleet("m2"), fails(check.Unhealthy, 9*time.Second)),
			[]api.ObstacleKind{api.ObstacleTurn}},
		{"not in the fleet", status(drain.Ready, fleet(), func(s *api.Status) { s.Certname = "m9" }),
			[]api.ObstacleKind{api.ObstacleWindow}},
		{"no other in the fleet", status(drain.Ready, fleet(), func(s *api.Status) { s.Others.Serving = nil }), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := rotation.Departure{Draw: func(int) int { return 0 }}
			if tt.status.Certname == "m9" {
				d.Draw = func(n int) int { return n - 1 } // none of its own: the last of eight
			}
			list, again := d.Waits(tt.status)
			var got []api.ObstacleKind
			for _, o := range list {
				got = append(got, o.Kind)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			const round = 3 * 15 * time.Second
			if own := again.UnixNano() % int64(round); !again.IsZero() && own != 0 {
				t.Errorf("its window begins %v after that of the first of three", time.Duration(own))
			}
		})
	}
}

// A fleet of aliases names masters that do not know these names of theirs; their answers tell.
func TestMastersBehindGatesWithAliasesHaveWindowsOfTheirOwn(t *testing.T) {
	aliases := []string{"https://puppet-a.example.com:9200", "puppet-b.example.com"}
	var begins []time.Time
	for i := range aliases {
		s := status(drain.Ready, gate(false, time.Minute))
		s.Certname, s.Fleet, s.Started = "srv01.example.com", aliases, held()
		s.Time = now().Add(2 * time.Second) // the first window has just begun
		s.Others = &api.OthersStatus{Asked: now(), Own: aliases[i], Serving: aliases[1-i : 2-i]}
		s.Services[0].Verdict.Health = check.Healthy
		if rotation.Unlisted(s, nil) {
			t.Errorf("%s is not in the fleet", aliases[i])
		}
		d := rotation.Departure{Draw: func(int) int { return 0 }}
		_, again := d.Waits(s)
		begins = append(begins, again)
	}
	const window = 15 * time.Second
	if first, second := begins[0].Unix()/15%2, begins[1].Unix()/15%2; first != 0 || second != 1 {
		t.Errorf("they may leave at %v; want one in even windows of %v, one in odd ones", begins, window)
	}
}

func TestUnlistedIsAMasterThatTheFleetDoesNotName(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fleet []string
		names []string
		own   string
		want  bool
	}{
		{"no fleet", nil, nil, "", false},
		{"by certname", []string{"m1.example.com", "m2.example.com"}, nil, "", false},
		{"by another name", []string{"192.0.2.1", "192.0.2.2"}, []string{"192.0.2.1"}, "", false},
		{"by an alias", []string{"puppet-a", "puppet-b"}, []string{"192.0.2.1"}, "", true},
		{"by one that has answered", []string{"puppet-a", "puppet-b"}, nil, "puppet-b", false},
		{"by one that is no longer in it", []string{"puppet-a", "puppet-b"}, nil, "puppet-c", true},
		{"only others", []string{"m2.example.com"}, nil, "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := api.Status{Certname: "m1.example.com", Fleet: tt.fleet, Others: &api.OthersStatus{Own: tt.own}}
			if got := rotation.Unlisted(s, tt.names); got != tt.want {
				t.Errorf("unlisted: %v, want %v", got, tt.want)
			}
		})
	}
}

// A daemon that has just started must not let a master leave before the fleet has answered.
// That balancers are known, which a restart does not forget, says nothing of the fleet.
func TestAYoungDaemonWaitsForTheFleet(t *testing.T) {
	const want = "unseen: the daemon has run for 3s, and the fleet has not answered yet"
	without := func(change func(*api.Status)) func(*api.Status) {
		return func(s *api.Status) { s.Gate = nil; change(s) }
	}
	for _, tt := range []struct {
		name   string
		change func(*api.Status)
		want   []string
	}{
		{"the gate runs", func(*api.Status) {}, []string{want}},
		{"it did for the daemon before", without(func(s *api.Status) { s.Others = &api.OthersStatus{Asked: held()} }),
			[]string{want}},
		{"no gate", without(func(*api.Status) {}), []string{}},
		{"no fleet", func(s *api.Status) { s.Fleet = nil }, []string{}},
		{"no longer young", func(s *api.Status) { s.Started = now().Add(-15 * time.Second) }, []string{}},
		{"the fleet has answered", func(s *api.Status) { s.Others = &api.OthersStatus{Asked: now()} }, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := status(drain.Ready, gate(false, time.Minute), sends("192.0.2.9"), func(s *api.Status) {
				s.Certname, s.Fleet, s.Started = "m1.example.com", []string{"m1", "m2", "m3"}, now().Add(-3*time.Second)
				s.Balancers[0].View, s.Balancers[0].Seen = nil, now()
			}, tt.change)
			list, _ := departure().Waits(s)
			list = slices.DeleteFunc(list, func(o api.Obstacle) bool { return o.Kind == api.ObstacleWindow })
			assertObstacles(t, list, tt.want)
		})
	}
}

// Masters behind gates whose turns end together, because one does not come back, must not
// leave in consecutive windows.
func TestAfterItsTurnAMasterBehindAGateWaitsForThoseThatLeaveThen(t *testing.T) {
	missing := func(hosts ...string) api.Status {
		s := status(drain.Ready, gate(false, time.Minute))
		s.Fleet, s.Others = []string{"m1", "m2", "m3"}, &api.OthersStatus{Asked: now(), Missing: hosts}
		s.Services[0].Verdict.Health = check.Healthy
		return s
	}
	d := departure()
	d.Waits(missing("m2"))
	d.Overdue()
	list, _ := d.Waits(missing("m2"))
	assertObstacles(t, list, []string{})
	list, _ = d.Waits(missing("m2", "m3"))
	assertObstacles(t, list, []string{"turn: m3 of the fleet does not serve"})
}

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
			s := status(drain.Drain, gate(tt.closed, time.Minute))
			used := false
			for _, o := range rotation.Leaving(s, monitor.Server, []tcp.Connection{connection(tt.peer, tt.idle)}, held()) {
				used = used || o.Kind == api.ObstacleConnection
			}
			if used != tt.used {
				t.Errorf("in use: %v, want %v", used, tt.used)
			}
		})
	}
}

// behindGate is a master without balancers whose gate runs and whose fleet says what others do.
func behindGate(mode drain.Mode, o api.OthersStatus, change ...func(*api.Status)) api.Status {
	s := status(mode, append([]func(*api.Status){gate(false, time.Minute)}, change...)...)
	o.Asked = now()
	s.Fleet, s.Others, s.Started = []string{"m1", "m2"}, &o, held()
	s.Services[0].Verdict.Health = check.Healthy
	return s
}

// A drain would only leave the gate open, and wait for agents that keep coming.
func TestTheLastMasterBehindAGateIsNotDrained(t *testing.T) {
	out := api.OthersStatus{Out: []string{"m2"}}
	for _, tt := range []struct {
		name    string
		service string
		status  api.Status
		want    bool
	}{
		{"another one serves", "", behindGate(drain.Ready, api.OthersStatus{Serving: []string{"m2"}}), true},
		{"none serves", "", behindGate(drain.Ready, out), false},
		{"none serves catalogs", monitor.Server, behindGate(drain.Ready, out), false},
		{"another service", "ca", behindGate(drain.Ready, out), true},
		{"none is known to serve", "", behindGate(drain.Ready, api.OthersStatus{Unknown: []string{"m2"}}), true},
		{"a balancer asks, which may know others", "", behindGate(drain.Ready, out, asking(func(*api.Balancer) {})), true},
		{"a balancer of another service asks, which has others", "", behindGate(drain.Ready, out, asksFor("puppetdb", 200)),
			false},
		{"one that has none", "", behindGate(drain.Ready, out, asksFor("ca", 100)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := rotation.Departure{Service: tt.service, Draw: func(int) int { return 0 }}
			list, again := d.Waits(tt.status)
			if got := d.Replaced(); got != tt.want {
				t.Errorf("replaced: %v, want %v", got, tt.want)
			}
			const why = "no other master of the fleet serves: m2"
			if !tt.want && (d.Alone() != why || len(list) > 0 || !again.IsZero()) {
				t.Errorf("%q; it waits for %v until %v", d.Alone(), list, again)
			}
		})
	}
}

// asksFor adds a balancer of a service that sends agents here, of servers with that total weight.
func asksFor(service string, total int) func(*api.Status) {
	return func(s *api.Status) {
		s.Services = append(s.Services, api.ServiceStatus{Name: service, Mode: drain.Ready})
		asking(func(b *api.Balancer) {
			b.Service, b.Name = service, service+"/m1"
			b.View = &api.View{State: "UP", Weight: 100, WeightTotal: total}
			if total > 100 {
				b.OthersWeight, b.OthersSeen, b.UnitWeight = total-100, now(), 100
			}
		})(s)
	}
}

// The gate sends agents of catalogs to other masters, which the only CA's balancer knows nothing of.
func TestTheBalancerOfTheOnlyCADoesNotKeepAMasterBehindAGate(t *testing.T) {
	serving, unknown := api.OthersStatus{Serving: []string{"m2"}}, api.OthersStatus{Unknown: []string{"m2"}}
	ca := asksFor("ca", 100)
	held := func(s *api.Status) { s.Services[0].Mode = drain.Drain }
	lost := func(s *api.Status) { s.Balancers[0].OthersSeen = now().Add(-time.Minute) }
	for _, tt := range []struct {
		name               string
		service            string
		status             api.Status
		replaced, mayLeave bool
	}{
		{"another one serves", "", behindGate(drain.Ready, serving, ca), true, true},
		{"one that does not say whether it serves", "", behindGate(drain.Ready, unknown, ca), true, true},
		{"another one serves, and the CA itself leaves", "ca", behindGate(drain.Ready, serving, ca), false, false},
		{"none serves", "", behindGate(drain.Ready, api.OthersStatus{Out: []string{"m2"}}, ca), false, false},
		{"no other master is listed", "", behindGate(drain.Ready, api.OthersStatus{}, ca), false, false},
		{"the gate does not run", "", behindGate(drain.Ready, serving, ca, gate(false, 0)), false, false},
		{"the only server of catalogs, too", "", behindGate(drain.Ready, serving, ca, asksFor(monitor.Server, 100)),
			false, false},
		{"held for catalogs already", "", behindGate(drain.Ready, serving, ca, held), false, true},
		{"the CA has lost its other server", "", behindGate(drain.Ready, serving, ca, lost), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := departure()
			d.Service = tt.service
			d.Saw(tt.status)
			if d.Replaced() != tt.replaced || d.ServerMayLeave() != tt.mayLeave {
				t.Errorf("replaced %v, want %v (%s); catalogs may leave %v, want %v",
					d.Replaced(), tt.replaced, d.Alone(), d.ServerMayLeave(), tt.mayLeave)
			}
		})
	}
}

// Two masters behind gates may leave together, as when their turns are over. Their gates open
// again, and agents would meet two masters that are about to stop.
func TestCollisionBehindGates(t *testing.T) {
	serving := api.OthersStatus{Serving: []string{"m2"}}
	out := api.OthersStatus{Out: []string{"m2"}, Missing: []string{"m2"}}
	for _, tt := range []struct {
		name          string
		before, after api.Status
		want          []string
	}{
		{"the other one stays", behindGate(drain.Ready, serving), behindGate(drain.Drain, serving), []string{}},
		{"the other one has left", behindGate(drain.Ready, serving), behindGate(drain.Drain, out),
			[]string{"collision: no other master of the fleet serves: m2"}},
		{"it was out before", behindGate(drain.Ready, out), behindGate(drain.Drain, out), []string{}},
		{"nothing is known of before", api.Status{}, behindGate(drain.Drain, out), []string{}},
		{"balancers decide", behindGate(drain.Ready, serving), behindGate(drain.Drain, out, asking(func(*api.Balancer) {})),
			[]string{}},
		{"a balancer of another service does not", behindGate(drain.Ready, serving, asksFor("ca", 200)),
			behindGate(drain.Drain, out, asksFor("ca", 200)), []string{"collision: no other master of the fleet serves: m2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := departure()
			d.Saw(tt.before)
			assertObstacles(t, d.Collision(tt.after), []string{})
			d.Left(held())
			list := d.Collision(tt.after)
			assertObstacles(t, list, tt.want)
			if collided := len(tt.want) > 0; rotation.Collided(list) != collided || collided && d.Replaced() {
				t.Errorf("collided: %v, replaced: %v", rotation.Collided(list), d.Replaced())
			}
		})
	}
}

// A window that was drawn may be another's, too. One of its own is not, so its master need not wait.
func TestADrawnWindowBehindAGateLastsUntilTheFleetHasTold(t *testing.T) {
	for certname, want := range map[string][]string{
		"m1.example.com": {},
		"m9.example.com": {"slot: another server may still leave at the same time"},
	} {
		d := departure()
		s := behindGate(drain.Ready, api.OthersStatus{Serving: []string{"m2"}}, func(s *api.Status) { s.Certname = certname })
		_, again := d.Waits(s)
		if !again.IsZero() {
			s.Time = again
			d.Waits(s)
		}
		d.Left(s.Time)
		s.Time = s.Time.Add(14 * time.Second)
		assertObstacles(t, d.Unsettled(s), want)
		s.Time = s.Time.Add(time.Second)
		assertObstacles(t, d.Unsettled(s), []string{})
	}
}
