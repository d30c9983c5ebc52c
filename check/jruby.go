package check

import (
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
)

// The name of the check, and its reasons.
const (
	CheckJRuby = "jruby"

	JRubyWarming Reason = "jruby-warming"
	JRubyBusy    Reason = "jruby-busy"
	JRubyStuck   Reason = "jruby-stuck"
	JRubyLocked  Reason = "jruby-locked"
)

// JRubySettings say how the pool is judged.
type JRubySettings struct {
	// WarmingMax is how long instances that are missing after a start keep the
	// master out. Those that a flush has ended never do.
	WarmingMax time.Duration `yaml:"warming_max" min:"1s" max:"24h"`
	// StuckAfter is how long requests may wait while no instance is returned, how long a pool
	// that was complete may be without any instance, and how long a saturated master may
	// leave probes unanswered.
	StuckAfter time.Duration `yaml:"stuck_after" min:"1s" max:"24h"`
}

func jruby() Check {
	return Check{
		Name:     CheckJRuby,
		Severity: Eject,
		Reasons: []Cause{
			{JRubyWarming, "wait: JRubies start one after another; if some never start, look in puppetserver.log"},
			{JRubyBusy, "raise max-active-instances in puppetserver.conf, add a master, or spread the agents' runs (splay); " +
				"against herds set max-queued-requests, 12 for each JRuby, with max-retry-delay, a minute or more"},
			{JRubyStuck, "a hanging generate(), ENC or PuppetDB query holds a JRuby: restart puppetserver to get rid of it"},
			{JRubyLocked, "a code deployment holds the pool (file-sync); lockless deploys avoid it"},
		},
	}
}

// poolCheck judges the pool of JRuby instances. The Status API says running as soon as the
// first instance is ready, and while none is returned; the pool shows both.
type poolCheck struct {
	JRubySettings

	found   Finding   // the last one for an answer
	started bool      // all instances have been ready at once since the last start, or WarmingMax is over
	since   time.Time // when instances began to be missing, after a start or a flush
	empty   time.Time // when the last instance was lost; zero while there is one
	last    *Pool     // nil after a start
}

// observe returns the finding for a result. What it cannot find out is unknown, and never
// counts against the master: older servers lack the service, or have another format. While
// the master is silent, what was last found holds. A definite fault may be the end of the
// server: a reload (SIGHUP) also closes the port and starts all instances again.
func (c *poolCheck) observe(r Result, now time.Time) Finding {
	f, unreadable := Finding{Check: CheckJRuby, Checked: r.Asked}, faultOf(r.PoolErr)
	switch {
	case r.Fault != nil && r.Fault.Reason == puppetclient.Timeout:
		return c.found
	case c.found.Check == "" && (r.Fault != nil || unreadable != nil && unreadable.Reason == NoStatusAPI):
		return Finding{} // it has not answered yet, or is a Ruby master
	case r.Fault != nil:
		stale := c.found.unknown("as it was before the master stopped answering") // the old values are still shown
		*c = poolCheck{JRubySettings: c.JRubySettings, found: stale}
		return c.found
	case r.Pool == nil:
		c.found = f.unknown(fmt.Sprint(r.PoolErr))
		return c.found
	}
	if c.last == nil {
		c.begin(r.Pool, now)
	}
	f = c.judge(r.Pool, now)
	c.last = r.Pool
	f.Check, f.Checked, f.Pool = CheckJRuby, r.Asked, r.Pool
	f.Value = fmt.Sprintf("%d of %d ready, %d at work, %d waiting",
		r.Pool.Ready(), r.Pool.Size, len(r.Pool.Borrowed), len(r.Pool.Waiting))
	c.found = f
	return f
}

// begin takes in the first pool. Instances that are missing in a young server have not started
// yet; one that is missing in an old server is being replaced or was lost. The state of the
// pool's lock began no earlier than the server: it is set at the start, and whenever it changes.
// A server that does not tell counts as young.
func (c *poolCheck) begin(p *Pool, now time.Time) {
	if !p.LockSince.IsZero() {
		c.since, c.started = p.LockSince, now.Sub(p.LockSince) >= c.WarmingMax
	}
}

// judge returns the finding for a pool, given what earlier ones have shown. A server that
// has started loses all its instances in a flush, DELETE
// /puppet-admin-api/v1/jruby-pool, which a deployment of code may send to all masters at
// once. Puppet Server 7.9.5 had the first of 3 back after 3.8 s and the last after 9 s;
// requests waited meanwhile.
func (c *poolCheck) judge(p *Pool, now time.Time) Finding {
	switch ready := p.Ready(); {
	case ready >= p.Size:
		c.started, c.since, c.empty = true, time.Time{}, time.Time{}
	case ready > 0:
		c.empty = time.Time{}
		if !c.started && c.since.IsZero() {
			c.since = now
		}
		c.started = c.started || now.Sub(c.since) >= c.WarmingMax
	case c.empty.IsZero():
		c.since, c.empty = now, now
	}
	without := time.Duration(0)
	if c.started && !c.empty.IsZero() {
		without = now.Sub(c.empty)
	}
	locked := p.Locked(now)
	switch {
	case p.Stuck() >= c.StuckAfter:
		return finding(StateBad, Unhealthy, JRubyStuck,
			"%d requests wait and no JRuby came back for %s; the oldest loan is %s",
			len(p.Waiting), text.Age(p.Stuck()), oldest(p.Borrowed))
	case without >= c.StuckAfter:
		return finding(StateBad, Unhealthy, JRubyStuck,
			"no JRuby has been ready for %s, and %d requests wait", text.Age(without), len(p.Waiting))
	case locked >= c.StuckAfter:
		return finding(StateBad, Unhealthy, JRubyLocked,
			"the pool has been locked (%s) for %s: no request is served", p.Lock, text.Age(locked))
	case !c.started: // even if the pool is locked: when that ends, the others are still missing
		return finding(StateBad, Warming, JRubyWarming,
			"%d of %d JRubies are ready", p.Ready(), p.Size)
	case p.held():
		return finding(StateWarn, Busy, JRubyLocked,
			"the pool has been locked (%s) for %s", p.Lock, text.Age(locked))
	case !c.since.IsZero():
		return finding(StateWarn, Busy, JRubyWarming,
			"%d of %d JRubies are ready, %s after a start or a flush", p.Ready(), p.Size, text.Age(now.Sub(c.since)))
	case p.Saturated():
		return finding(StateWarn, Busy, JRubyBusy,
			"%d requests wait for a JRuby, the oldest is %s", len(p.Waiting), oldest(p.Waiting))
	case c.last != nil && (p.Timeouts > c.last.Timeouts || p.LimitHits > c.last.LimitHits):
		return finding(StateWarn, Busy, JRubyBusy,
			"%d requests gave up waiting for a JRuby, %d were turned away at max-queued-requests",
			max(0, p.Timeouts-c.last.Timeouts), max(0, p.LimitHits-c.last.LimitHits))
	}
	return Finding{State: StateOK, Reason: OK}
}
