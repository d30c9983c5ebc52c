package status_test

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// made returns the status of a master alone, of facts that change.
func made(t *testing.T, change func(*status.Facts, *drain.Store)) status.Status {
	t.Helper()
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	settings := config.Default()
	facts := status.Facts{
		State:    &monitor.State{Services: []monitor.Service{{Name: drain.Master}}},
		Settings: &settings,
	}
	change(&facts, store)
	facts.State.Holds = store.Read()
	return status.New(facts, now())
}

func TestEveryClientIsBelievedUnlessTheConfigurationNamesBalancers(t *testing.T) {
	named := []netip.Prefix{netip.MustParsePrefix("192.0.2.5/32")}
	anyone := made(t, func(*status.Facts, *drain.Store) {})
	listed := made(t, func(f *status.Facts, _ *drain.Store) { f.Settings.Balancers = named })
	if !anyone.BelievesAll() || len(anyone.Believed) != 2 {
		t.Errorf("without balancers: %v", anyone.Believed)
	}
	if listed.BelievesAll() || !slices.Equal(listed.Believed, named) {
		t.Errorf("with balancers: %v", listed.Believed)
	}
}

func TestWhatIsProbablyAMistakeIsAWarning(t *testing.T) {
	holds := func(service drain.Service) func(*status.Facts, *drain.Store) {
		return func(_ *status.Facts, store *drain.Store) {
			set := func(drain.Hold) (drain.Hold, error) { return drain.Hold{Mode: drain.Drain}, nil }
			if _, err := store.Change("operator", service, set); err != nil {
				t.Fatal(err)
			}
		}
	}
	budget := func(reachable bool) func(*status.Facts, *drain.Store) {
		return func(f *status.Facts, _ *drain.Store) {
			f.Budget = &status.BudgetStatus{Reachable: reachable, Error: "no answer within 2s"}
		}
	}
	probed := func(address string, doubted bool) func(*status.Facts, *drain.Store) {
		return func(f *status.Facts, _ *drain.Store) {
			settings := *f.Settings
			settings.Probe.Address = "localhost:8140"
			state := *f.State
			state.Address = address
			state.Doubted = doubted
			f.Settings = &settings
			f.State = &state
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*status.Facts, *drain.Store)
		want   string
	}{
		{"the master is where it is assumed", probed("localhost:8140", false), ""},
		{"the master is elsewhere", probed("localhost:8141", false),
			"the master's unit does not listen at localhost:8140 but at localhost:8141, and is probed there; " +
				"to make that certain, set probe: {address: \"localhost:8141\"}"},
		{"another program has the address", probed("localhost:8140", true),
			"another program than the master's unit listens at localhost:8140, and its answers count; " +
				"if they are the master's, set probe: {address: \"localhost:8140\"}"},
		{"a hold on everything", holds(drain.EveryService), ""},
		{"a hold on the master", holds(drain.Master), ""},
		{"a hold on a service that is not there", holds("sever"), "the hold of operator is on the unknown service sever: "},
		{"a budget that answers", budget(true), ""},
		{"a budget that does not", budget(false), "no answer within 2s; until it answers, drain and maint are refused"},
	} {
		warnings := made(t, tt.change).Warnings
		got := strings.Join(warnings, "; ")
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && len(warnings) > 0 {
			t.Errorf("%s: %q, want %q", tt.name, warnings, tt.want)
		}
	}
}

func TestStateSaysWhetherABalancerAsks(t *testing.T) {
	refused := func(s *status.Status) {
		s.Refused.From = []front.RefusedClient{{By: front.ByAllow, Balancer: true, Last: s.Time}}
	}
	unlisted := func(s *status.Status) { s.Unlisted = []status.Balancer{{Service: drain.Master}} }
	for _, tt := range []struct {
		name   string
		status status.Status
		want   string
	}{
		{"asked by a balancer", st(drain.Ready, serves, asking()), "in service"},
		{"by one of another service", st(drain.Ready, serves, asking(ofTheCA)), "in service; no balancer asks"},
		{"by a client that does not count", st(drain.Ready, serves, asking(told(200, 1, 1), once, stranger)),
			"in service; no balancer asks"},
		{"by one that is not listed", st(drain.Ready, serves, unlisted), "in service; no listed balancer asks"},
		{"by one that is refused", st(drain.Ready, serves, refused), "in service; what asks is refused"},
		{"held", st(drain.Drain, asking()), "OUT of service: held in drain"},
		{"leaving", st(drain.Drain, leaving, asking()), "leaving: held in drain"},
	} {
		if got := tt.status.State(drain.Master); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// stranger is a client that the configuration does not name.
func stranger(b *status.Balancer) { b.Listed = false }

func TestMayRestart(t *testing.T) {
	inTheWay := []status.Blocker{{Kind: blocker.Agent, Text: "an agent"}}
	last := []status.Blocker{{Kind: blocker.OnlyServer, Text: "the last", Of: "lb1/puppet"}}
	isLast := func(o status.Blocker) bool { return o.Kind == blocker.OnlyServer }
	const ready, held, healthy, warming = drain.Ready, drain.Drain, check.Healthy, check.Warming
	for _, tt := range []struct {
		mode           drain.Mode
		leaving        drain.Leaving
		health         check.Health
		blockers, back []status.Blocker
		reason         check.Reason
		by             string // the holder
		guarded        bool
		out            bool                 // every balancer has let go
		service        drain.Service        // if it is not the master
		budget         *status.BudgetStatus // one that does not answer
		says           string
		shown          int
	}{
		{mode: ready, health: check.Unhealthy, blockers: inTheWay},
		{mode: ready, health: healthy, says: "Drain it before a restart."},
		{mode: ready, health: healthy, guarded: true, says: "systemctl restart drains it first."},
		{mode: ready, health: healthy, guarded: true, service: "puppetdb"},
		{mode: held, health: healthy, service: "ca", says: "No balancer sends to it."},
		{mode: ready, health: healthy, blockers: inTheWay, budget: &status.BudgetStatus{}, says: "A drain would be refused:",
			shown: 1},
		{mode: ready, health: healthy, blockers: last, says: "It must stay in service:", shown: 1},
		{mode: ready, health: healthy, blockers: inTheWay, says: "It would have to wait before it leaves:", shown: 1},
		{mode: ready, health: healthy, back: inTheWay, says: "Not in service everywhere yet:", shown: 1},
		{mode: held, health: healthy, says: "Idle: it may be restarted now."},
		{mode: held, health: warming, says: "Puppet Server is starting: no agent is at work on it."},
		{mode: held, health: warming, reason: check.UnitReloading, by: drain.Reload,
			says: "Puppet Server is reloading: no agent is at work on it."},
		{mode: held, health: check.Unhealthy, reason: check.UnitStopping, by: drain.Guard,
			says: "Puppet Server is stopping: no agent is at work on it."},
		{mode: held, health: healthy, blockers: inTheWay, says: "Not idle yet: do not restart it.", shown: 1},
		{mode: held, health: healthy, back: inTheWay, says: "Idle: it may be restarted now."},
		{mode: held, leaving: drain.LeavingInTurn, health: healthy, blockers: append(last, inTheWay...),
			says: "It has not left yet: do not restart it.", shown: 2},
		{mode: held, leaving: drain.LeavingInTurn, health: healthy, blockers: last,
			says: "It has not left yet: do not restart it.", shown: 1},
		{mode: held, leaving: drain.LeavingInTurn, health: healthy, blockers: inTheWay,
			says: "It has not left yet: do not restart it.", shown: 1},
		{mode: held, leaving: drain.LeavingInTurn, out: true, health: healthy,
			says: "Idle, but it may return to the pool by itself: drain it again before a restart."},
		{mode: held, leaving: drain.LeavingInTurn, out: true, health: healthy, blockers: inTheWay,
			says: "Not idle yet: do not restart it.", shown: 1},
		{mode: held, leaving: drain.LeavingInTurn, by: drain.Guard, health: healthy, blockers: last,
			says: "systemctl is stopping it, and waits for what follows:", shown: 1},
		{mode: held, leaving: drain.LeavingInTurn, by: drain.Reload, health: healthy, blockers: inTheWay,
			says: "systemctl is reloading it, and waits for what follows:", shown: 1},
		{mode: held, leaving: drain.LeavingInTurn, by: drain.Guard, health: healthy,
			says: "systemctl is stopping it: no agent is at work on it."},
		{mode: held, by: drain.Guard, health: healthy, blockers: inTheWay, says: "Not idle yet: do not restart it.",
			shown: 1},
	} {
		v := status.ServiceStatus{
			Name:    cmp.Or(tt.service, drain.Master),
			Mode:    tt.mode,
			Verdict: check.Verdict{Health: tt.health, Reason: tt.reason},
			Departure: status.Departure{
				Leaving:    tt.leaving,
				Out:        tt.out,
				OnlyServer: slices.ContainsFunc(tt.blockers, isLast),
				Blockers:   tt.blockers,
				Return:     tt.back,
			},
		}
		s := status.Status{Guarded: tt.guarded, Budget: tt.budget}
		if tt.mode == held {
			s.Holds = []drain.Hold{{Holder: cmp.Or(tt.by, drain.Operator), Mode: tt.mode, Leaving: tt.leaving}}
		}
		if says, shown := s.MayRestart(v); says != tt.says || len(shown) != tt.shown {
			t.Errorf("%+v: %q, %v", tt, says, shown)
		}
	}
}

func TestWhatKeepsBalancersAwayIsAWarning(t *testing.T) {
	since := time.Date(2026, 11, 25, 12, 0, 0, 0, time.Local)
	source := netip.MustParseAddr("192.0.2.5")
	settings := config.Default()
	s := status.New(status.Facts{
		State:     &monitor.State{Services: []monitor.Service{{Name: drain.Master}}},
		Settings:  &settings,
		Balancers: balancer.List{{Node: "lb1", Source: source, Seen: since, Listed: true}},
		Refused: status.Refused{
			Allow: 9,
			From:  []front.RefusedClient{{Source: source, Balancer: true, Count: 9, Since: since}},
		},
	}, since.Add(time.Hour))
	for i, want := range []string{
		"192.0.2.5 was refused since 2026-11-25 12:00:00, 9×: it is not in allow",
		"balancer lb1 has not asked since 2026-11-25 12:00:00",
	} {
		if s.Warnings[i] != want {
			t.Errorf("%q, want %q", s.Warnings[i], want)
		}
	}
}
