package balancer

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

func TestTurnsThatAreNotCertainAreNamed(t *testing.T) {
	backend := func(node, name string, others int) Balancer {
		b := Balancer{
			Node:         node,
			Name:         name + "/m1",
			Source:       netip.MustParseAddr("192.0.2.5"),
			Service:      "server",
			View:         &View{State: "UP", Weight: 100, WeightTotal: 100 * (others + 1)},
			OthersWeight: 100 * others,
			UnitWeight:   100,
		}
		if others > 0 {
			b.OthersSeen = time.Now()
		}
		return b
	}
	of := func(service drain.Service, b Balancer) Balancer { b.Service = service; return b }
	healthHidden := backend("lb1", "held", 2)
	healthHidden.Unhealthy = 200
	for _, tt := range []struct {
		name string
		list List
		want string
	}{
		{"as in the README", List{backend("lb1", "0-turn", 1), backend("lb1", "puppet", 1)}, ""},
		{"a single master", List{backend("lb1", "puppet", 0)}, ""},
		{"none", List{backend("lb1", "puppet", 1)}, "balancer lb1 has no backend 0-turn: "},
		{"that of another HAProxy", List{backend("lb0", "0-turn", 1), backend("lb1", "puppet", 1)},
			"balancer lb1 has no backend 0-turn: "},
		{"a name that sorts first", List{backend("lb1", "0-turn", 1), backend("lb1", "0-puppet", 1)},
			"balancer lb1: the name of backend 0-puppet sorts before 0-turn"},
		{"a server is missing", List{backend("lb1", "0-turn", 1), backend("lb1", "puppet", 2)},
			"balancer lb1: backend 0-turn has 2 servers, but puppet has 3"},
		{"a service of its own", List{backend("lb1", "0-turn", 1), of("broker", backend("lb1", "broker", 1))}, ""},
		{"a server is unhealthy, and one backend does not mind", List{backend("lb1", "0-turn", 1), healthHidden}, ""},
		{"a backend for the only CA", List{backend("lb1", "0-turn", 1), backend("lb1", "ca", 0)}, ""},
	} {
		got := strings.Join(tt.list.TurnWarnings(time.Now()), "; ")
		if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestServersAreComparedAfterSlowstart: in the README's backends a server comes up for the first time, in puppet with a
// few of its 100. The views are those of a check of 0-turn and one of puppet.
func TestServersAreComparedAfterSlowstart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		views [][2]string
		want  bool
	}{
		{"another comes up", [][2]string{
			{"UP 100/200", "UP 100/113"},
			{"UP 100/200", "UP 100/138"},
		}, false},
		{"another is up", [][2]string{
			{"UP 100/200", "UP 100/138"},
			{"UP 100/200", "UP 100/200"},
			{"+1m"},
			{"UP 100/200", "UP 100/200"},
		}, false},
		{"this one comes up", [][2]string{{"UP 100/200", "UP 13/113; throttle=13%"}}, false},
		{"another comes up in 0-turn first", [][2]string{
			{"UP 100/200", "UP 100/200"},
			{"+1m"},
			{"UP 100/300", "UP 100/200"},
		}, false},
		{"0-turn lacks a server", [][2]string{
			{"UP 100/200", "UP 100/300"},
			{"+1m"},
			{"UP 100/200", "UP 100/300"},
		}, true},
	} {
		b, now := new(Tracker), time.Now()
		for _, checks := range tt.views {
			if d, err := time.ParseDuration(checks[0]); err == nil {
				now = now.Add(d)
				continue
			}
			now = now.Add(3 * time.Second)
			for i, backend := range []string{"0-turn", "puppet"} {
				name := "; name=" + backend + "/m1; node=lb1; weight="
				record(b, lb, Check{Header: strings.Replace(checks[i], " ", name, 1)}, 200, now)
			}
		}
		restored := new(Tracker)
		restored.Restore(b.All(), now)
		if got := b.All().TurnWarnings(now); (len(got) > 0) != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
		if got := restored.All().TurnWarnings(now); len(got) > 0 {
			t.Errorf("%s, after a restart of the daemon: %q", tt.name, got)
		}
	}
}
