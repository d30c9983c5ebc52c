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
		{"new files cannot be used", func(c *calm, _ *facts) { c.around.unused = errors.New("no such file") }, false},
		{"connections wait to be accepted", func(c *calm, _ *facts) { c.around.accepts = false }, false},
		{"stirred after the last handshake", func(c *calm, _ *facts) { c.stirred = ago(3 * time.Minute) }, false},
		{"stirred just before it", func(c *calm, _ *facts) { c.stirred = ago(4*time.Minute + 29*time.Second) }, false},
		{"stirred long before it", func(c *calm, _ *facts) { c.stirred = ago(4*time.Minute + 30*time.Second) }, true},
		{"the last handshake is old", func(c *calm, _ *facts) { c.proved = ago(5 * time.Minute) }, false},
		{"never a handshake", func(c *calm, _ *facts) { c.proved = time.Time{} }, false},
		{"a certificate has expired", func(c *calm, _ *facts) { c.expiry = now }, false},
		{"a certificate expires soon", func(c *calm, _ *facts) { c.expiry = now.Add(time.Second) }, true},
	} {
		c := newCalm(config.Default(), time.Time{}, ago(time.Hour))
		c.proved = ago(4 * time.Minute)
		c.around.accepts = true
		f := facts{
			health: check.Healthy,
			mode:   drain.Ready,
			pool:   check.Finding{State: check.StateOK, Pool: &check.Pool{}, Checked: ago(4 * time.Second)},
			limit:  8 * time.Second,
		}
		tt.change(&c, &f)
		if got := c.spares(f, now); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestCalmReturnsAfterAnotherHandshake: after a change the master is probed as often as
// before, until a handshake has been made that Puppet Server has had time for. It loads a CRL a
// few seconds after the file has changed.
func TestCalmReturnsAfterAnotherHandshake(t *testing.T) {
	now := time.Now()
	c := newCalm(config.Default(), time.Time{}, now)
	c.around.accepts = true
	f := facts{health: check.Healthy, mode: drain.Ready, limit: time.Hour,
		pool: check.Finding{State: check.StateOK, Pool: &check.Pool{}, Checked: now}}
	at := func(d time.Duration, want bool) {
		t.Helper()
		if got := c.spares(f, now.Add(d)); got != want {
			t.Errorf("after %s: %v, want %v", d, got, want)
		}
	}
	probed := func(d time.Duration, r check.Result) {
		r.Asked = now.Add(d)
		c.heard(r, r.Asked)
	}
	probed(0, check.Result{Handshake: true})
	at(31*time.Second, false)
	if c.unproved(now.Add(29*time.Second)) || !c.unproved(now.Add(30*time.Second)) {
		t.Error("a handshake is not wanted when the start is 30 s ago")
	}
	probed(32*time.Second, check.Result{Handshake: true})
	at(32*time.Second, true)
	if c.unproved(now.Add(33 * time.Second)) {
		t.Error("another handshake is wanted right after one")
	}
	c.stirred = now.Add(60 * time.Second) // a CRL was renewed
	probed(60*time.Second, check.Result{Handshake: true})
	at(91*time.Second, false)
	probed(92*time.Second, check.Result{Handshake: true})
	at(92*time.Second, true)
	probed(100*time.Second, check.Result{Fault: &check.Fault{Reason: check.Timeout}})
	probed(102*time.Second, check.Result{}) // over the kept connection
	at(140*time.Second, false)
	probed(141*time.Second, check.Result{Handshake: true})
	at(141*time.Second, true)
	at(440*time.Second, true)
	at(441*time.Second, false)
	probed(442*time.Second, check.Result{Handshake: true})
	at(442*time.Second, true)
}

// TestCalmKnowsTheEarlierExpiry: what the master has loaded may be older than the files.
func TestCalmKnowsTheEarlierExpiry(t *testing.T) {
	now := time.Now()
	crl := func(asked, expires time.Duration) check.Result {
		return check.Result{Handshake: true, Asked: now.Add(asked),
			CRLs: []check.CRL{{Expires: now.Add(expires)}}}
	}
	c := newCalm(config.Default(), time.Time{}, now)
	for _, step := range []struct {
		r    check.Result
		want time.Duration
	}{
		{crl(0, time.Hour), time.Hour},
		{crl(time.Minute, 30*time.Hour), time.Hour}, // renewed on disk
		{crl(2*time.Minute, time.Minute*30), 30 * time.Minute},
		{crl(31*time.Minute, 30*time.Hour), 30 * time.Hour},
	} {
		c.heard(step.r, step.r.Asked)
		if got := c.expiry.Sub(now); got != step.want {
			t.Errorf("after %s: %s, want %s", step.r.Asked.Sub(now), got, step.want)
		}
	}
}
