package monitor

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

const (
	// settles is the time in which Puppet Server follows an event, as when it loads a new CRL. A
	// handshake after that proves that all is well.
	settles = 30 * time.Second
	// proves is how long such a handshake proves it, while nothing happens.
	proves = 5 * time.Minute
)

// calm decides whether a probe can be left out. A kept connection that ends, systemd, the
// files and their dates, and the queue of the listener tell of nearly everything that can change
// on a master that is well. What remains is a hang, and a reading of the JRuby pool shows that
// there is none as well as a probe: Puppet Server answers a probe with the word running whenever
// it answers it. So while nothing is wrong only the pool is read, and the master is probed, over a new
// connection, when a handshake may prove something: after an event, once more when Puppet
// Server has had time to follow it, and every 5 minutes.
type calm struct {
	possible bool      // by the configuration
	stirred  time.Time // when something was last wrong, or changed
	proved   time.Time // when the last good request with a handshake began
	expiry   time.Time // the first one after proved; zero if there is none
	around   surroundings
}

// newCalm returns the calm of a new configuration. The expiry that was known before still counts:
// that pmcheck has read its configuration makes Puppet Server load nothing.
func newCalm(c config.Config, expiry, now time.Time) calm {
	return calm{
		possible: c.Calm(),
		stirred:  now,
		expiry:   expiry,
	}
}

// unproved reports whether a handshake is wanted at now, which would prove that all is well.
func (c *calm) unproved(now time.Time) bool {
	settled := c.stirred.Add(settles)
	return c.possible && c.proved.Before(settled) && !now.Before(settled)
}

// facts is what is known of the master when a probe is due.
type facts struct {
	health check.Health // with the findings
	mode   drain.Mode
	pool   check.Finding // the last of the check jruby
	limit  time.Duration // how old that may be
}

// spares reports whether the probe that is due at now can be left out. A master that is not well,
// or whose pool was not read in time, counts as an event.
func (c *calm) spares(f facts, now time.Time) bool {
	well := f.health == check.Healthy && f.mode == drain.Ready && c.around.well()
	read := f.pool.Pool != nil && f.pool.State == check.StateOK && now.Sub(f.pool.Checked) < f.limit
	if !well || !read {
		c.stirred = now
	}
	return c.possible && !c.proved.Before(c.stirred.Add(settles)) && now.Sub(c.proved) < proves &&
		(c.expiry.IsZero() || now.Before(c.expiry))
}

// heard records a result of the master, at now. What the master has loaded may be older than
// the files, so an earlier expiry still counts.
func (c *calm) heard(r check.Result, now time.Time) {
	switch {
	case r.Fault != nil:
		c.stirred = now
	case r.Handshake:
		c.proved = r.Asked
		if next := r.NextExpiry(r.Asked); next.Before(c.expiry) || !c.expiry.After(r.Asked) {
			c.expiry = next
		}
	}
}

// calmly reports whether a probe of the master that is due at now can be left out.
func (m *Monitor) calmly(now time.Time) bool {
	if !m.calm.possible {
		return false
	}
	s := m.State()
	f := facts{
		health: s.Services[0].Verdict.At(now).Health,
		limit:  m.config.Unused() + 3*m.config.Probe.Timeout,
	}
	f.mode, _ = s.Mode(Server, now)
	f.pool, _ = m.findings.last(check.CheckJRuby, now)
	return m.calm.spares(f, now)
}

// take takes in a finding. While all is calm, the reading behind it stands for a probe, unless
// one is under way or began later. A reading that proves nothing is followed by a probe.
func (m *Monitor) take(ctx context.Context, f found, now time.Time) {
	if f.Check != check.CheckJRuby {
		m.findings.take(f.Finding, now)
		return
	}
	calm, server := m.calmly(now), m.services[0] // as it was before this finding
	m.findings.take(f.Finding, now)
	switch r := f.reading; {
	case r == nil:
		m.calm.stirred = now
		m.probeIf(ctx, server, calm)
	case calm && !server.asking && r.Asked.After(server.last.Asked):
		result := *r
		result.API = server.last.API
		m.observe(ctx, server, result)
	}
}
