package daemon_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
)

// A reload or a restart of the daemon does not take out a master that lacks one JRuby,
// lost or recycled by max-requests-per-instance, or all of them after a flush, unless the
// master has just started.
func TestMissingJRubyMeansWarmingOnlyOnAYoungServer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		up    time.Duration
		ready int
		code  int
		body  string
	}{
		{"up for an hour", time.Hour, 3, 200, answer.Serving},
		{"up for an hour, flushed", time.Hour, 0, 200, answer.Serving},
		{"up for ten seconds", 10 * time.Second, 3, 503, "warming: jruby-warming"},
		{"up for ten seconds, none ready", 10 * time.Second, 0, 503, "warming: jruby-warming"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, nil)
			r.waitFor(200, answer.Serving)
			r.master.SetPool(check.Pool{Size: 4, Free: tt.ready, LockSince: time.Now().Add(-tt.up)})
			r.Reload(r.config, "test.yaml")
			r.waitForPool(4, tt.ready)
			r.waitFor(tt.code, tt.body)
			r.stop()
			r.run()
			r.waitForPool(4, tt.ready)
			r.waitFor(tt.code, tt.body)
		})
	}
}

// waitForPool waits until the status shows a pool of this size, with this number of
// JRubies ready.
func (r *testDaemon) waitForPool(size, ready int) {
	r.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		for _, c := range r.Status(time.Now()).Services[0].Checks {
			if c.Pool != nil && c.Pool.Size == size && c.Pool.Ready() == ready {
				return
			}
		}
	}
	r.t.Fatalf("the status never showed %d of %d JRubies", ready, size)
}
