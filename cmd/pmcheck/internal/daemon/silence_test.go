package daemon_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

const warming = "warming: jruby-warming"

// A master that was too slow to answer was not restarted, so it serves at once. One that
// refused connections has started anew.
func TestSlowMasterNeedsNoWarmUp(t *testing.T) {
	for _, tt := range []struct {
		state  checktest.State
		up     time.Duration
		reason string
		code   int
		body   string
	}{
		{checktest.Silent, 0, "unhealthy: timeout", 200, answer.Serving},
		{checktest.Stopped, 0, "unhealthy: refused", 503, warming},
		{checktest.Garbage, time.Hour, "unhealthy: bad-answer", 200, answer.Serving},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			r := start(t, func(c *config.Config) {
				c.Probe.Interval, c.Probe.Timeout = 100*time.Millisecond, 90*time.Millisecond
			})
			r.master.SetPool(check.Pool{Size: 2, Free: 2, Lock: "not-in-use"})
			r.waitFor(200, answer.Serving)
			if err := r.master.Set(tt.state); err != nil {
				t.Fatal(err)
			}
			r.waitFor(503, tt.reason)
			r.master.SetPool(check.Pool{Size: 2, Free: 1, LockSince: time.Now().Add(-tt.up)}) // one is being replaced
			if err := r.master.Set(checktest.Running); err != nil {
				t.Fatal(err)
			}
			r.waitFor(tt.code, tt.body)
		})
	}
}

// A restart of the daemon does not take out a master that lacks one JRuby, lost or recycled by
// max-requests-per-instance, or all of them after a flush, unless the master has just started.
func TestMissingJRubyMeansWarmingOnlyOnAYoungServer(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for _, tt := range []struct {
		up    time.Duration
		ready int
		code  int
		body  string
	}{
		{time.Hour, 3, 200, answer.Serving},
		{time.Hour, 0, 200, answer.Serving},
		{10 * time.Second, 3, 503, warming},
	} {
		r.master.SetPool(check.Pool{Size: 4, Free: tt.ready, LockSince: time.Now().Add(-tt.up)})
		r.restart()
		if code, body := r.ask("GET / HTTP/1.0\r\n\r\n"); code != tt.code || body != tt.body {
			t.Errorf("up for %s, %d JRubies ready: %d %s, want %d %s", tt.up, tt.ready, code, body, tt.code, tt.body)
		}
	}
}
