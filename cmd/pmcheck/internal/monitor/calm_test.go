package monitor

import (
	"errors"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

// TestCalmEndsWithWhateverMayHaveChanged: a probe is left out only while nothing can have
// happened that the pool does not show.
func TestCalmEndsWithWhateverMayHaveChanged(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, tt := range []struct {
		name   string
		change func(c *calm, f *facts)
		want   bool
	}{
		{"all is well", func(*calm, *facts) {}, true},
		{"the pool is not read often enough", func(c *calm, _ *facts) { c.possible = false }, false},
		{"unhealthy", func(_ *calm, f *facts) { f.health = check.Unhealthy }, false},
		{"busy", func(_ *calm, f *facts) { f.health = check.Busy }, false},
		{"unknown", func(_ *calm, f *facts) { f.health = check.Unknown }, false},
		{"held", func(_ *calm, f *facts) { f.mode = drain.Drain }, false},
		{"no reading yet", func(_ *calm, f *facts) { f.pool = check.Finding{} }, false},
		{"the pool could not be read", func(_ *calm, f *facts) { f.pool.State = check.StateNone }, false},
		{"requests wait", func(_ *calm, f *facts) { f.pool.State = check.StateWarn }, false},
		{"the reading is old", func(_ *calm, f *facts) { f.pool.Checked = ago(9 * time.Second) }, false},
		{"new files", func(_ *calm, f *facts) { f.files++ }, false},
		{"new files cannot be used", func(_ *calm, f *facts) { f.unused = errors.New("no such file") }, false},
		{"connections wait to be accepted", func(_ *calm, f *facts) { f.accepts = false }, false},
		{"stirred just now", func(c *calm, _ *facts) { c.stirred = ago(29 * time.Second) }, false},
		{"stirred before the last handshake", func(c *calm, _ *facts) { c.stirred = ago(30 * time.Second) }, true},
		{"the last handshake is old", func(c *calm, _ *facts) { c.proved = ago(5 * time.Minute) }, false},
		{"never a handshake", func(c *calm, _ *facts) { c.proved = time.Time{} }, false},
		{"a certificate has expired", func(c *calm, _ *facts) { c.expiry = now }, false},
		{"a certificate expires soon", func(c *calm, _ *facts) { c.expiry = now.Add(time.Second) }, true},
	} {
		c := newCalm(config.Default(), ago(time.Hour))
		c.proved = ago(4 * time.Minute)
		f := facts{
			health:  check.Healthy,
			mode:    drain.Ready,
			pool:    check.Finding{State: check.StateOK, Pool: &check.Pool{}, Checked: ago(4 * time.Second)},
			limit:   8 * time.Second,
			accepts: true,
		}
		tt.change(&c, &f)
		if got := c.holds(f, now); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestCalmReturnsAfterAnotherHandshake: after a change the master is probed as often as
// before, until a handshake has been made since.
func TestCalmReturnsAfterAnotherHandshake(t *testing.T) {
	now := time.Now()
	c := newCalm(config.Default(), now)
	f := facts{health: check.Healthy, mode: drain.Ready, limit: time.Hour, accepts: true,
		pool: check.Finding{State: check.StateOK, Pool: &check.Pool{}, Checked: now}}
	at := func(d time.Duration, want bool) {
		t.Helper()
		if got := c.holds(f, now.Add(d)); got != want {
			t.Errorf("after %s: %v, want %v", d, got, want)
		}
	}
	probed := func(d time.Duration, r check.Result) {
		r.Asked = now.Add(d)
		c.heard(r, r.Asked)
	}
	probed(0, check.Result{Handshake: true})
	at(29*time.Second, false)
	at(30*time.Second, true)
	f.files = 1 // a CRL was renewed
	at(60*time.Second, false)
	at(89*time.Second, false)
	at(90*time.Second, true)
	probed(100*time.Second, check.Result{Fault: &check.Fault{Reason: check.Timeout}})
	at(129*time.Second, false)
	probed(130*time.Second, check.Result{}) // over the kept connection
	at(130*time.Second, true)
	at(299*time.Second, true)
	at(300*time.Second, false)
	probed(301*time.Second, check.Result{Handshake: true})
	at(301*time.Second, true)
}
