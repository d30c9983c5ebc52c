package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
)

// CheckJRuby is the name of the check of the pool of JRuby instances.
const CheckJRuby = "jruby"

// The reasons of the check.
const (
	JRubyUnread  Reason = "jruby-not-read"
	JRubyWarming Reason = "jruby-warming"
	JRubyBusy    Reason = "jruby-busy"
	JRubyStuck   Reason = "jruby-stuck"
	JRubyLocked  Reason = "jruby-locked"
)

// The values used where a JRuby's fields are zero.
const (
	DefaultWarmingMax = 5 * time.Minute
	DefaultStuckAfter = 2 * time.Minute
)

// JRubySettings say how the pool is judged.
type JRubySettings struct {
	// Interval is the time between two looks at the pool.
	Interval time.Duration `yaml:"interval" min:"1s" max:"24h"`
	// WarmingMax is how long instances that are missing after a start keep the
	// master out.
	WarmingMax time.Duration `yaml:"warming_max" min:"1s" max:"24h"`
	// StuckAfter is how long requests may wait with no instance coming back.
	StuckAfter time.Duration `yaml:"stuck_after" min:"1s" max:"24h"`
	// BusyFall is how many probes in a row may go unanswered while the pool was
	// last seen saturated.
	BusyFall int `yaml:"busy_fall" min:"1" max:"100"`
}

func jruby() Check {
	s := &JRubySettings{
		Interval:   5 * time.Second,
		WarmingMax: DefaultWarmingMax,
		StuckAfter: DefaultStuckAfter,
		BusyFall:   5,
	}
	return Check{
		Name:     CheckJRuby,
		Title:    "the pool of JRuby instances",
		Severity: Eject,
		Asks: "GET /status/v1/services/jruby-metrics?level=debug of the master: how many instances are ready, at " +
			"work, waited for; whether the pool is locked. It needs no instance and a few milliseconds.",
		Why: "Puppet Server says running with one instance of eight started, while all are stuck, and while the pool " +
			"is locked: agents then wait for up to 20 minutes.",
		Because: "a master that is not complete yet, or from which nothing comes back, fails agents that others would " +
			"serve. A busy one stays in. What older servers do not tell is unknown and changes nothing.",
		Do: "Stuck: see what the oldest loan does, then restart puppetserver. Busy: raise max-active-instances or add " +
			"a master. Warming: wait; jruby.warming_max ends it.",
		Reasons: []Cause{
			{JRubyUnread, "", "wait for a moment; if it stays, see whether " +
				"/status/v1/services/jruby-metrics?level=debug answers"},
			{JRubyWarming, "", "wait: JRubies start one after another; if some stay away, look for errors in " +
				"puppetserver.log and for memory (JAVA_ARGS)"},
			{JRubyBusy, "", "more agents than JRubies: raise max-active-instances, add a master, or spread the " +
				"agents' runs (splay)"},
			{JRubyStuck, "", "look at the oldest loan's request; a hanging generate(), ENC or PuppetDB query holds a " +
				"JRuby for ever: restart puppetserver to be rid of it"},
			{JRubyLocked, "", "a code deployment holds the pool (file-sync): if it does not end, look at " +
				"puppetserver.log; lockless deploys avoid it"},
		},
		Settings: s,
		Schedule: func(h Host) *Scheduled {
			j := &JRuby{Client: h.client(), JRubySettings: *s}
			return &Scheduled{
				Check:     j.Check,
				Interval:  s.Interval,
				Timeout:   h.Timeout,
				Client:    j.Client,
				Restarted: j.Restarted,
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

// uptimePath tells how long the JVM has been up, in all versions that have
// jruby-metrics.
const uptimePath = "/status/v1/services/status-service?level=debug"

// JRuby asks for the pool of JRuby instances. The Status API says running as soon as
// the first instance is ready, and while none is returned; the pool shows both. A
// question takes no instance and a few milliseconds. Not safe for concurrent use.
type JRuby struct {
	Client *puppetclient.Client
	JRubySettings

	service  string    // the name that answered last
	asked    time.Time // first, since the last start
	complete bool      // all instances were there since the last start
	since    time.Time // when they began to be missing
	last     *Pool
}

// Restarted says that the master may have been started anew, so that the check waits
// for its instances.
func (j *JRuby) Restarted() {
	j.asked, j.complete, j.since, j.last = time.Time{}, false, time.Time{}, nil
}

// Check asks once. What it cannot find out is unknown, and never held against the
// master: older servers lack the service, or have another format. A server that does
// not answer at all may still be starting, so for the first 30 s the finding then has
// the health Warming.
func (j *JRuby) Check(ctx context.Context) Finding {
	now := time.Now()
	if j.asked.IsZero() {
		j.asked = now
	}
	pool, err := j.ask(ctx)
	if err == nil && pool.Ready() == 0 {
		pool, err = j.ask(ctx) // an instance that changes hands is counted nowhere for a moment
	}
	if err != nil {
		f := newFinding(CheckJRuby).unknown(err.Error())
		f.Checked = now
		if faultOf(err) != nil && j.last == nil && now.Sub(j.asked) < unreadMax {
			f.Health = Warming
		}
		return f
	}
	if j.last == nil && pool.Ready() > 0 && pool.Ready() < pool.Size {
		j.recall(ctx, now)
	}
	f := j.judge(pool, now)
	j.last = pool
	f.Check, f.Checked, f.Pool = CheckJRuby, now, pool
	f.Value = fmt.Sprintf("%d of %d ready, %d at work, %d waiting",
		pool.Ready(), pool.Size, len(pool.Borrowed), len(pool.Waiting))
	return f
}

// ask tries Puppet Server's name for the service and PE's, and remembers
// which one there is.
func (j *JRuby) ask(ctx context.Context) (*Pool, error) {
	names := []string{"jruby-metrics", "pe-jruby-metrics"}
	if j.service != "" {
		names = []string{j.service}
	}
	status, path := 0, ""
	for _, name := range names {
		path = "/status/v1/services/" + name + "?level=debug"
		code, body, err := j.Client.Get(ctx, path, maxPool)
		if err != nil {
			return nil, err
		}
		if code == http.StatusOK || code == http.StatusServiceUnavailable {
			j.service = name
			pool, err := parsePool(body)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			return pool, nil
		}
		status = code
	}
	j.service = ""
	return nil, fmt.Errorf("%s: HTTP status %d", path, status)
}

// recall asks how long the server has been up. A check that has just begun, as
// after a reload, knows no history: instances that a young server lacks have not
// started yet, one that an old server lacks is being replaced or was lost. A server
// that does not tell is treated like a young one.
func (j *JRuby) recall(ctx context.Context, now time.Time) {
	code, body, err := j.Client.Get(ctx, uptimePath, maxPool)
	if err != nil || code != http.StatusOK {
		return
	}
	var s struct {
		Status struct {
			Experimental struct {
				JVM struct {
					UpMillis float64 `json:"up-time-ms"`
				} `json:"jvm-metrics"`
			} `json:"experimental"`
		} `json:"status"`
	}
	if json.Unmarshal(body, &s) == nil && s.Status.Experimental.JVM.UpMillis > 0 {
		up := time.Duration(s.Status.Experimental.JVM.UpMillis) * time.Millisecond
		j.since = now.Add(-up)
	}
}

// judge concludes from the pool now and the one before.
func (j *JRuby) judge(p *Pool, now time.Time) Finding {
	switch {
	case p.Ready() >= p.Size:
		j.complete, j.since = true, time.Time{}
	case p.Ready() == 0:
		j.complete, j.since = false, now // a flushed pool is treated like a freshly started one
	case !j.complete && j.since.IsZero():
		j.since = now
	}
	stuckAfter := cmp.Or(j.StuckAfter, DefaultStuckAfter)
	warmingMax := cmp.Or(j.WarmingMax, DefaultWarmingMax)
	locked := p.Locked(now)
	switch {
	case p.Stuck() >= stuckAfter:
		return finding(StateBad, Unhealthy, JRubyStuck, text.Duration(stuckAfter),
			"%d requests wait and no JRuby came back for %s; the oldest loan is %s",
			len(p.Waiting), text.Age(p.Stuck()), oldest(p.Borrowed))
	case locked >= stuckAfter:
		return finding(StateBad, Unhealthy, JRubyLocked, text.Duration(stuckAfter),
			"the pool has been locked (%s) for %s: no request is served", p.Lock, text.Age(locked))
	case p.held():
		return finding(StateWarn, Busy, JRubyLocked, text.Duration(stuckAfter),
			"the pool has been locked (%s) for %s", p.Lock, text.Age(locked))
	case !j.complete && now.Sub(j.since) < warmingMax:
		return finding(StateBad, Warming, JRubyWarming, fmt.Sprint(p.Size),
			"%d of %d JRubies are ready", p.Ready(), p.Size)
	case !j.complete:
		return finding(StateWarn, Busy, JRubyWarming, fmt.Sprint(p.Size),
			"only %d of %d JRubies are ready after %s", p.Ready(), p.Size, text.Duration(warmingMax))
	case p.Saturated():
		return finding(StateWarn, Busy, JRubyBusy, "",
			"%d requests wait for a JRuby, the oldest is %s", len(p.Waiting), oldest(p.Waiting))
	case j.last != nil && p.Timeouts > j.last.Timeouts:
		return finding(StateWarn, Busy, JRubyBusy, "",
			"%d requests gave up waiting for a JRuby", p.Timeouts-j.last.Timeouts)
	case j.last != nil && p.LimitHits > j.last.LimitHits:
		return finding(StateWarn, Busy, JRubyBusy, "",
			"%d requests were turned away at max-queued-requests", p.LimitHits-j.last.LimitHits)
	}
	return Finding{State: StateOK, Reason: OK}
}

// finding makes a Finding of what is wrong.
func finding(s State, h Health, r Reason, threshold, detail string, args ...any) Finding {
	return Finding{State: s, Health: h, Reason: r, Threshold: threshold, Detail: fmt.Sprintf(detail, args...)}
}
