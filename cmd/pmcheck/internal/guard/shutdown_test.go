package guard_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/guard"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
	"github.com/pmcheck/pmcheck/drain"
)

// While the host shuts down, the time that is kept back for agents is used: by a master that
// is not drained because no other server is left, and after a collision.
func TestAShutdownLeavesNoTimeUnused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		// others is the weight of the other servers, of which one more is expected back, during
		// the first drain, before it and after it.
		others func(drains int, drained bool) int
		drains int
		says   string
	}{
		{"no other server is left", func(int, bool) int { return 0 }, 0, "not drained, serves until it stops"},
		{"another one leaves at the same time", func(drains int, drained bool) int {
			if drains == 1 && drained {
				return 0
			}
			return 100
		}, 2, "goes back into service"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			settings := config.Default()
			settings.Holds = config.Holds{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
			settings.Socket = filepath.Join(t.TempDir(), "s")
			settings.Probe.Address = "192.0.2.1:8140" // no connection of this host
			settings.Guard.Shutdown = 4 * time.Second
			var drains atomic.Int64
			serveStatus(t, settings, func(drained bool) int { return tt.others(int(drains.Load()), drained) }, &drains)

			var out strings.Builder
			g := guard.New("puppetserver", settings, &out, render.NewProgress(&out))
			began := time.Now()
			g.HostStops(began)
			if err := g.BeforeStop(t.Context()); err != nil && !errors.Is(err, guard.ErrNotIdle) {
				t.Fatal(err)
			}
			if took := time.Since(began); tt.drains == 0 && took < 3600*time.Millisecond {
				t.Errorf("it stops after %v of 4s, with no other server", took)
			}
			if n := strings.Count(out.String(), "held: "); n != tt.drains || !strings.Contains(out.String(), tt.says) {
				t.Errorf("drained %d times, want %d, and %q:\n%s", n, tt.drains, tt.says, &out)
			}
		})
	}
}

// serveStatus answers on the socket as the daemon of a master whose balancer follows a hold at
// once, and counts how often it was drained.
func serveStatus(t *testing.T, settings config.Config, others func(drained bool) int, drains *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("unix", settings.Socket)
	if err != nil {
		t.Fatal(err)
	}
	var before atomic.Bool
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" { // it waits for news
			time.Sleep(20 * time.Millisecond)
		}
		now := time.Now()
		mode, _ := settings.Store().Read().Mode(monitor.Server, now)
		drained := mode == drain.Drain
		if before.Swap(drained) != drained && drained {
			drains.Add(1)
		}
		view := &api.View{State: "UP", Weight: 100, WeightTotal: 100 + others(drained)}
		if drained {
			view.State, view.WeightTotal = "NOLB", others(drained)
		}
		_ = json.NewEncoder(w).Encode(api.Status{
			Time:     now,
			Started:  now.Add(-time.Hour),
			Certname: "m1",
			Balancers: []api.Balancer{{
				Node:         "lb1",
				Service:      monitor.Server,
				Seen:         now,
				Checks:       9,
				Interval:     0.1,
				DrainCode:    http.StatusNotFound,
				OthersWeight: others(false) + 100,
				OthersSeen:   now.Add(-time.Second),
				UnitWeight:   100,
				View:         view,
			}},
			Services: []api.ServiceStatus{{
				Name:    monitor.Server,
				Mode:    mode,
				Verdict: check.Verdict{Health: check.Healthy},
				Checks: []api.CheckStatus{{Finding: check.Finding{
					Check:   check.CheckJRuby,
					Pool:    &check.Pool{Size: 1},
					Checked: now,
				}}},
			}},
			Probe: api.ProbeStatus{Address: settings.Probe.Address},
		})
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}
