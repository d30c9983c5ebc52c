package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
)

// The name of the check, and its reasons.
const (
	CheckJRuby = "jruby"

	JRubyUnread  Reason = "jruby-not-read"
	JRubyWarming Reason = "jruby-warming"
	JRubyBusy    Reason = "jruby-busy"
	JRubyStuck   Reason = "jruby-stuck"
	JRubyLocked  Reason = "jruby-locked"
)

// JRubySettings say how the pool is judged.
type JRubySettings struct {
	// Interval is the time between two looks at the pool.
	Interval time.Duration `yaml:"interval" min:"1s" max:"24h"`
	// WarmingMax is how long instances that are missing after a start keep the
	// master out. Those that a flush has ended never do.
	WarmingMax time.Duration `yaml:"warming_max" min:"1s" max:"24h"`
	// StuckAfter is how long requests may wait while no instance is returned, and how
	// long a pool that was complete may be without any instance.
	StuckAfter time.Duration `yaml:"stuck_after" min:"1s" max:"24h"`
	// BusyFall is how many probes in a row may go unanswered while the pool was
	// last seen saturated.
	BusyFall int `yaml:"busy_fall" min:"1" max:"100"`
}

// Unused is the longest time between two looks while no agent uses the master: three times
// Interval, at most 25 s, since Jetty ends a connection that is idle for 30 s.
func (s JRubySettings) Unused() time.Duration { return min(3*s.Interval, 25*time.Second) }

func jruby() Check {
	s := &JRubySettings{
		Interval:   5 * time.Second,
		WarmingMax: 5 * time.Minute,
		StuckAfter: 2 * time.Minute,
		BusyFall:   5,
	}
	return Check{
		Name:     CheckJRuby,
		Title:    "the pool of JRuby instances",
		Severity: Eject,
		Reasons: []Cause{
			{JRubyUnread, "", "wait for a moment; if it stays, see whether " +
				"/status/v1/services/jruby-metrics?level=debug answers"},
			{JRubyWarming, "", "wait: JRubies start one after another; if some never start, look for errors in " +
				"puppetserver.log and for memory (JAVA_ARGS)"},
			{JRubyBusy, "", "more agents than JRubies: raise max-active-instances, add a master, or spread the " +
				"agents' runs (splay)"},
			{JRubyStuck, "", "look at the oldest loan's request; a hanging generate(), ENC or PuppetDB query holds a " +
				"JRuby for ever: restart puppetserver to get rid of it"},
			{JRubyLocked, "", "a code deployment holds the pool (file-sync): if it does not end, look at " +
				"puppetserver.log; lockless deploys avoid it"},
		},
		Settings: s,
		Schedule: func(h Host) *Scheduled {
			client, own := h.shared()
			p := &poolCheck{client: client, JRubySettings: *s}
			return &Scheduled{
				Check:     p.check,
				Interval:  s.Interval,
				Timeout:   h.Timeout,
				Unused:    s.Unused(),
				Client:    own,
				Reading:   func() *Result { return p.reading },
				Restarted: p.restarted,
				Urgent:    true,
			}
		},
	}
}

// unreadMax is how long after a start a pool that cannot be read keeps the master
// out: a server that starts its JRubies may not answer in time.
const unreadMax = 30 * time.Second

// maxPool bounds an answer of jruby-metrics: a loan has under 1 KiB, and
// Jetty lets about 200 requests wait.
const maxPool = 4 << 20

// errNoPool means that the server has no JRubies, like the Ruby master, or does not
// report them.
var errNoPool = errors.New("no JRuby pool")

// poolCheck asks for the pool of JRuby instances. The Status API says running as soon
// as the first instance is ready, and while none is returned; the pool shows both.
type poolCheck struct {
	client *puppetclient.Client
	JRubySettings

	service string    // the name that answered last
	asked   time.Time // when the check first asked after the last start
	started bool      // all instances have been ready at once since the last start, or WarmingMax is over
	unread  bool      // the uptime of the server could not be read at the first look
	anew    bool      // the server has started its JRubies anew, however long its JVM has been up
	since   time.Time // when instances began to be missing, after a start or a flush
	empty   time.Time // when the last instance was lost; zero while there is one
	last    *Pool
	reading *Result // the last request, if its answer was a pool
}

// restarted makes the check wait for the instances of a master that may have been
// restarted. A reload of Puppet Server (SIGHUP) closes the port for about 3 s and starts all
// instances again in the same JVM, so its uptime says nothing then. A flush closes no port.
func (c *poolCheck) restarted(closed bool) {
	*c = poolCheck{client: c.client, JRubySettings: c.JRubySettings, service: c.service, anew: closed}
}

// check asks once. What it cannot find out is unknown, and never counts against the
// master: older servers lack the service, or have another format. A server that does
// not answer at all may still be starting, so for the first 30 s the finding then has
// the health Warming.
func (c *poolCheck) check(ctx context.Context) Finding {
	now := time.Now()
	if c.asked.IsZero() {
		c.asked = now
	}
	r := &Result{Asked: now}
	pool, err := c.ask(ctx, r)
	if err == nil && pool.Ready() == 0 {
		pool, err = c.ask(ctx, r) // an instance that is being handed over is not counted for a moment
	}
	c.reading = nil
	if err == nil && r.Status == http.StatusOK { // a service that does not run answers 503
		c.reading = r
	}
	if err != nil {
		f := Finding{Check: CheckJRuby, Checked: now}.unknown(err.Error())
		f.Absent = errors.Is(err, errNoPool)
		if faultOf(err) != nil && c.last == nil && now.Sub(c.asked) < unreadMax {
			f.Health = Warming
		}
		return f
	}
	if missing := pool.Ready() < pool.Size; c.last == nil || c.unread {
		c.unread = missing && !c.anew && !c.recall(ctx, now)
	}
	f := c.judge(pool, now)
	c.last = pool
	f.Check, f.Checked, f.Pool = CheckJRuby, now, pool
	f.Value = fmt.Sprintf("%d of %d ready, %d at work, %d waiting",
		pool.Ready(), pool.Size, len(pool.Borrowed), len(pool.Waiting))
	return f
}

// ask tries Puppet Server's name for the service and PE's, and remembers which one
// exists. It records the request.
func (c *poolCheck) ask(ctx context.Context, r *Result) (pool *Pool, err error) {
	names := []string{"jruby-metrics", "pe-jruby-metrics"}
	if c.service != "" {
		names = []string{c.service}
	}
	for _, name := range names {
		path := "/status/v1/services/" + name + "?level=debug"
		a, asked := c.client.Do(ctx, puppetclient.Request{Path: path, Limit: maxPool, Handshake: longHandshake})
		r.take(a)
		switch {
		case asked != nil:
			return nil, asked
		case a.Status != http.StatusOK && a.Status != http.StatusServiceUnavailable:
			err = fmt.Errorf("%s: HTTP status %d", path, a.Status)
			if a.Status == http.StatusNotFound {
				err = fmt.Errorf("%w: %w", errNoPool, err)
			}
			continue
		}
		c.service = name
		if pool, err = parsePool(a.Body); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return pool, err
	}
	c.service = ""
	return nil, err
}

// recall asks how long the server has been up. A check that has just begun, as after a
// reload, has no history. Instances that are missing in a young server have not started
// yet; one that is missing in an old server is being replaced or was lost. A server
// that does not report its uptime is treated like a young one, until it does.
func (c *poolCheck) recall(ctx context.Context, now time.Time) (read bool) {
	status, body, err := c.client.Get(ctx, uptimePath, maxAnswer)
	if err != nil || status != http.StatusOK {
		return false
	}
	up, err := parseUptime(body)
	if err != nil {
		return false
	}
	c.since, c.started = now.Add(-up), up >= c.WarmingMax
	return true
}

// uptimePath is what all versions that have jruby-metrics tell of their JVM.
const uptimePath = "/status/v1/services/status-service?level=debug"

// parseUptime reads how long the JVM has been up from an answer of status-service.
func parseUptime(body []byte) (time.Duration, error) {
	var s struct {
		Status struct {
			Experimental struct {
				JVM struct {
					Up float64 `json:"up-time-ms"`
				} `json:"jvm-metrics"`
			} `json:"experimental"`
		} `json:"status"`
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return 0, err
	}
	up := s.Status.Experimental.JVM.Up
	if up <= 0 {
		return 0, errors.New("up-time-ms is missing")
	}
	return time.Duration(seconds(up) * float64(time.Second)), nil
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
	locked, stuckAfter := p.Locked(now), text.Duration(c.StuckAfter)
	switch {
	case p.Stuck() >= c.StuckAfter:
		return finding(StateBad, Unhealthy, JRubyStuck, stuckAfter,
			"%d requests wait and no JRuby came back for %s; the oldest loan is %s",
			len(p.Waiting), text.Age(p.Stuck()), oldest(p.Borrowed))
	case without >= c.StuckAfter:
		return finding(StateBad, Unhealthy, JRubyStuck, stuckAfter,
			"no JRuby has been ready for %s, and %d requests wait", text.Age(without), len(p.Waiting))
	case locked >= c.StuckAfter:
		return finding(StateBad, Unhealthy, JRubyLocked, stuckAfter,
			"the pool has been locked (%s) for %s: no request is served", p.Lock, text.Age(locked))
	case !c.started: // even if the pool is locked: when that ends, the others are still missing
		return finding(StateBad, Warming, JRubyWarming, fmt.Sprint(p.Size),
			"%d of %d JRubies are ready", p.Ready(), p.Size)
	case p.held():
		return finding(StateWarn, Busy, JRubyLocked, stuckAfter,
			"the pool has been locked (%s) for %s", p.Lock, text.Age(locked))
	case !c.since.IsZero() && now.Sub(c.since) < c.WarmingMax:
		return finding(StateWarn, Busy, JRubyWarming, fmt.Sprint(p.Size),
			"%d of %d JRubies are ready: the others were flushed and start again", p.Ready(), p.Size)
	case !c.since.IsZero():
		return finding(StateWarn, Busy, JRubyWarming, fmt.Sprint(p.Size),
			"only %d of %d JRubies are ready after %s", p.Ready(), p.Size, text.Duration(c.WarmingMax))
	case p.Saturated():
		return finding(StateWarn, Busy, JRubyBusy, "",
			"%d requests wait for a JRuby, the oldest is %s", len(p.Waiting), oldest(p.Waiting))
	case c.last != nil && p.Timeouts > c.last.Timeouts:
		return finding(StateWarn, Busy, JRubyBusy, "",
			"%d requests gave up waiting for a JRuby", p.Timeouts-c.last.Timeouts)
	case c.last != nil && p.LimitHits > c.last.LimitHits:
		return finding(StateWarn, Busy, JRubyBusy, "",
			"%d requests were turned away at max-queued-requests", p.LimitHits-c.last.LimitHits)
	}
	return Finding{State: StateOK, Reason: OK}
}
