package daemon_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/drain"
)

// lb1 is the check of a balancer that has no other server.
const lb1 = "GET /?drain=404 HTTP/1.0\r\n" +
	"X-Haproxy-Server-State: UP; name=puppet/m1; node=lb1; weight=1/1; scur=2/2; qcur=0\r\n\r\n"

func TestRestartForgetsNoBalancer(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.ask(lb1)
	for range 2 {
		r.stop()
		r.run()
		s := r.Status(time.Now())
		if len(s.Balancers) != 1 || s.Balancers[0].Node != "lb1" || s.Balancers[0].Codes.Drain != 404 {
			t.Fatalf("after a restart: %+v", s.Balancers)
		}
		if last := s.Services[0].Keeps; len(last) != 1 || last[0].Kind != balancer.ObstacleLast {
			t.Errorf("after a restart, the last server of lb1: %+v", last)
		}
	}
	r.hold(drain.Drain)
	r.waitUntil(func() bool { return r.Status(time.Now()).Services[0].Mode == drain.Drain })
	if o := r.Status(time.Now()).Services[0].Obstacles; len(o) == 0 || o[0].Kind != balancer.ObstacleBalancer {
		t.Errorf("a balancer that has not asked since is not an obstacle: %+v", o)
	}
	r.config.Balancers = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")}
	r.stop()
	r.run()
	if s := r.Status(time.Now()); len(s.Balancers) != 0 {
		t.Errorf("restored %+v, which the setting balancers excludes", s.Balancers)
	}
}

// The guard waits for agents of a balancer that has put the master in MAINT, and so no
// longer asks.
func TestRestartKeepsWhenABalancerAskedLast(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.stop()
	seen := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		saved string
		want  time.Time
	}{
		{`[{"source": "x"`, time.Time{}},
		{`[{"source": "198.51.100.1", "service": "server", "checks": 9, "seen": "2026-01-02T03:04:05Z"}]`, seen},
		{"[" + strings.Repeat(`{},`, 500_000) + "{}]", time.Time{}},
		{`[{"source": "198.51.100.1", "service": "server", "interval_seconds": -1e300}]`, time.Time{}},
	} {
		must(t, os.WriteFile(filepath.Join(r.runtime, "balancers.json"), []byte(tt.saved), 0o600))
		for range 2 {
			r.run()
			if s := r.Status(time.Now()); !s.BalancerAsked.Equal(tt.want) || len(s.Balancers) != 0 {
				t.Errorf("a balancer asked last at %v, want %v; %+v ask", s.BalancerAsked, tt.want, s.Balancers)
			}
			r.stop()
		}
	}
}
