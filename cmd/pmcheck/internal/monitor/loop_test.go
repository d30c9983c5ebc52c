package monitor

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// alone returns a monitor of a master that is not there, with the longest interval and no other check.
func alone(t *testing.T, hooks Hooks) *Monitor {
	c := config.Default()
	c.Probe.Address, c.Probe.Interval = "127.0.0.1:1", 5*time.Minute
	for i := range c.Checks {
		c.Checks[i].Severity = check.Off
	}
	store := &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()}
	return New(c, store, slog.New(slog.DiscardHandler), hooks)
}

func TestLoopPublishesBeforeHoldsAreTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last time.Time
		published := func(s *State) {
			if gap := s.Published.Sub(last); !last.IsZero() && gap > 3*longestPass/2 {
				t.Errorf("published after %s", gap)
			}
			last = s.Published
		}
		m := alone(t, Hooks{Published: published, Probed: func(drain.Service, time.Duration) {}})
		go m.loop(ctx)
		time.Sleep(time.Minute)
		synctest.Wait()
		if age := time.Since(m.State().Published); age > 3*longestPass/2 {
			t.Errorf("the state is %s old", age)
		}
	})
}

// TestAReloadEndsAUnitAndACheck: what was seen of a unit that is not watched any more is forgotten, and a check that
// has ended finds nothing more.
func TestAReloadEndsAUnitAndACheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := alone(t, Hooks{Published: func(*State) {}, Probed: func(drain.Service, time.Duration) {}})
		m.sight.unit = systemd.UnitState{Unit: "puppetserver.service", Guarded: true}
		began := make(chan struct{}, 2)
		runs := 0
		run := func(ctx context.Context) check.Finding {
			runs++
			began <- struct{}{}
			<-ctx.Done()
			return check.Finding{Check: check.CheckPuppetDB, State: check.StateNone, Checked: time.Now()}
		}
		for i := range m.config.Checks {
			if m.config.Checks[i].Name == check.CheckPuppetDB {
				m.config.Checks[i].Severity = check.Warn
			}
		}
		m.findings.checks = m.config.Checks
		m.findings.scheduled = map[string]*check.Scheduled{
			check.CheckPuppetDB: {Run: run, Interval: time.Hour, Timeout: time.Hour},
		}
		go m.loop(ctx)
		<-began

		next := m.config // which names no PuppetDB
		m.Reload(next)
		time.Sleep(2 * longestPass)
		synctest.Wait()
		s := m.State()
		if runs != 1 || len(s.Findings) != 0 || s.Guarded {
			t.Errorf("ran %d times, findings %+v, guarded %v; want once, none, false", runs, s.Findings, s.Guarded)
		}
	})
}

// TestAProbeIsHurriedUnlessHealthyAndReady: what a command or a balancer waits for is seen within a second. So is a
// master that stops to accept connections.
func TestAProbeIsHurriedUnlessHealthyAndReady(t *testing.T) {
	held := readHolds(t, drain.Hold{Holder: drain.Operator, Mode: drain.Drain})
	for _, tt := range []struct {
		health  check.Health
		holds   drain.Snapshot
		waiting int // connections that Puppet Server has not accepted
		want    time.Duration
	}{
		{check.Healthy, readHolds(t), 0, 5 * time.Second},
		{check.Busy, readHolds(t), 0, time.Second},
		{check.Healthy, held, 0, time.Second},
		{check.Healthy, readHolds(t), 1, time.Second},
	} {
		m := &Monitor{config: config.Default()}
		m.state.Store(&State{Published: time.Now(), Holds: tt.holds, Result: check.Result{Waiting: tt.waiting},
			Services: []Service{{Name: drain.Master, Verdict: check.Verdict{Health: tt.health}}}})
		if got := m.pause(); got != tt.want {
			t.Errorf("%s: a probe every %s, want %s", tt.health, got, tt.want)
		}
	}
}

// TestProbesOutOfTurn: connections that end cause one probe before the next that is due, and a probe that is wanted
// while one is under way follows it.
func TestProbesOutOfTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var probes atomic.Int64
		m := alone(t, Hooks{Published: func(*State) {}, Probed: func(drain.Service, time.Duration) { probes.Add(1) }})
		master := m.services[0]
		master.asking = true
		m.probe(ctx, master)
		m.observe(ctx, outcome{subject: master})
		if !master.asking {
			t.Error("no probe follows the one that was under way")
		}
		m.observe(ctx, <-m.results)
		go m.loop(ctx)
		synctest.Wait()
		before := probes.Load()
		for range 3 {
			m.lost <- master
			synctest.Wait()
		}
		if got := probes.Load() - before; got != 1 {
			t.Errorf("%d probes after connections were lost, want 1", got)
		}
	})
}
