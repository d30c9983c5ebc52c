package daemon_test

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

// restart replaces the daemon by another with the runtime directory dir.
func (r *testDaemon) restart(dir string) {
	r.t.Helper()
	r.stop()
	r.Daemon = daemon.New(r.config, "test.yaml", "test", slog.New(slog.DiscardHandler))
	r.Runtime = dir
	r.serve()
}

// A balancer that asked before a restart is known after it, although it has not asked
// again: a slow one takes a while.
func TestRestartForgetsNoBalancer(t *testing.T) {
	t.Parallel()
	r, dir := start(t, nil), t.TempDir()
	r.restart(dir)
	r.ask("GET /?drain=404 HTTP/1.0\r\n" +
		"X-Haproxy-Server-State: UP; name=puppet/m1; node=lb1; weight=1/1; scur=2/2; qcur=0\r\n\r\n")
	for range 2 {
		r.restart(dir)
		s := r.Status(time.Now())
		if len(s.Balancers) != 1 || s.Balancers[0].Node != "lb1" || s.Balancers[0].Codes.Drain != 404 {
			t.Fatalf("after a restart: %+v", s.Balancers)
		}
		if last := s.Services[0].Keeps; len(last) != 1 || last[0].Concerns != "lb1" {
			t.Errorf("after a restart, the last server of lb1: %+v", last)
		}
	}
	r.drain()
	if o := r.Status(time.Now()).Services[0].Obstacles; len(o) == 0 || o[0].Kind != balancer.ObstacleUnseen {
		t.Errorf("a balancer that has not asked since is not an obstacle: %+v", o)
	}
}

// The guard waits for agents of a balancer that has put the master in MAINT, and so no
// longer asks.
func TestRestartKeepsWhenABalancerAskedLast(t *testing.T) {
	t.Parallel()
	r, dir := start(t, nil), t.TempDir()
	const saved = `[{"source": "198.51.100.1", "service": "server", "checks": 9, "seen": "2026-01-02T03:04:05Z"}]`
	if err := os.WriteFile(filepath.Join(dir, "balancers.json"), []byte(saved), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.restart(dir)
		s := r.Status(time.Now())
		if want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC); !s.BalancerAsked.Equal(want) || len(s.Balancers) != 0 {
			t.Errorf("a balancer asked last at %v, want %v; %+v ask", s.BalancerAsked, want, s.Balancers)
		}
	}
	r.restart(t.TempDir())
	if asked := r.Status(time.Now()).BalancerAsked; !asked.IsZero() {
		t.Errorf("a balancer asked at %v, before a daemon that knows of none", asked)
	}
}

func TestBalancersExcludedMeanwhileAreNotRestored(t *testing.T) {
	t.Parallel()
	r, dir := start(t, nil), t.TempDir()
	r.restart(dir)
	r.ask("GET / HTTP/1.0\r\nX-Haproxy-Server-State: UP; name=puppet/m1; node=lb1; weight=1/1\r\n\r\n")
	r.config.Balancers = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")}
	r.restart(dir)
	if s := r.Status(time.Now()); len(s.Balancers) != 0 {
		t.Errorf("restored %+v, which the setting balancers excludes", s.Balancers)
	}
}

func TestBadFileOfBalancersIsIgnored(t *testing.T) {
	t.Parallel()
	r, dir := start(t, nil), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "balancers.json"), []byte(`[{"source": "x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	r.restart(dir)
	if s := r.Status(time.Now()); len(s.Balancers) != 0 {
		t.Errorf("got %+v", s.Balancers)
	}
}
