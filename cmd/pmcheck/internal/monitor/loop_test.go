package monitor

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

// TestLoopPublishesBeforeHoldsAreTooOld: with the longest interval and no other check, the
// state still gets each reading of the holds in time.
func TestLoopPublishesBeforeHoldsAreTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config.Default()
		c.Probe.Address, c.Probe.Interval = "127.0.0.1:1", 5*time.Minute
		for i := range c.Checks {
			c.Checks[i].Severity = check.Off
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last time.Time
		published := func(s *State) {
			if gap := s.Published.Sub(last); !last.IsZero() && gap > holdsMaxAge/2 {
				t.Errorf("published after %s", gap)
			}
			last = s.Published
		}
		hooks := Hooks{Published: published, Probed: func(string, time.Duration) {}}
		m := New(c, &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}, slog.New(slog.DiscardHandler), hooks)
		go m.loop(ctx)
		time.Sleep(time.Minute)
		synctest.Wait()
		if age := time.Since(m.State().Published); age > holdsMaxAge/2 {
			t.Errorf("the state is %s old", age)
		}
	})
}

// TestAProbeIsHurriedUnlessHealthyAndReady: what a command or a balancer waits for is seen within a second.
func TestAProbeIsHurriedUnlessHealthyAndReady(t *testing.T) {
	held := readHolds(t, drain.Hold{Holder: drain.Operator, Mode: drain.Drain})
	for _, tt := range []struct {
		health check.Health
		holds  drain.Snapshot
		want   time.Duration
	}{
		{check.Healthy, readHolds(t), 5 * time.Second},
		{check.Busy, readHolds(t), time.Second},
		{check.Healthy, held, time.Second},
	} {
		m := &Monitor{config: config.Default()}
		m.state.Store(&State{Published: time.Now(), Holds: tt.holds,
			Services: []Service{{Name: Server, Verdict: check.Verdict{Health: tt.health}}}})
		if got := m.pause(); got != tt.want {
			t.Errorf("%s: a probe every %s, want %s", tt.health, got, tt.want)
		}
	}
}
