package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// The values used where a JRuby's fields are zero.
const (
	DefaultWarmingMax = 5 * time.Minute
	DefaultStuckAfter = 2 * time.Minute
)

// unreadMax is how long after a start a pool that cannot be read keeps the master
// out: a server that is busy starting its JRubies may be late to tell of them.
const unreadMax = 30 * time.Second

// maxPool bounds an answer of jruby-metrics: a loan has under 1 KiB, and
// Jetty lets about 200 requests wait.
const maxPool = 4 << 20

// JRuby asks for the pool of JRuby instances. The Status API says running as
// soon as the first instance is there, and while none comes back; the pool
// tells. Asking costs no instance and a few milliseconds. Not safe for
// concurrent use.
type JRuby struct {
	Client *Client
	// WarmingMax is how long instances that are missing after a start keep the
	// master out.
	WarmingMax time.Duration
	// StuckAfter is how long requests may wait with no instance coming back.
	StuckAfter time.Duration

	service  string    // the name that answered last
	asked    time.Time // first, since the last start
	complete bool      // all instances were there since the last start
	since    time.Time // when they began to be missing
	last     *Pool
}

// Restarted says that the master may have been started anew, so that its
// instances are to be waited for.
func (j *JRuby) Restarted() {
	j.asked, j.complete, j.since, j.last = time.Time{}, false, time.Time{}, nil
}

// Check asks once. What it cannot find out is unknown, and never held against
// the master: older servers lack the service or shape it otherwise. One that does
// not answer at all may still be starting: for the first half a minute the
// finding then has the health Warming.
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
		f := Finding{Check: CheckJRuby, State: StateNone, Reason: NotKnown, Detail: err.Error(), Checked: now}
		var silence *Fault
		if errors.As(err, &silence) && j.last == nil && now.Sub(j.asked) < unreadMax {
			f.Health = Warming
		}
		return f
	}
	f := j.judge(pool, now)
	j.last = pool
	f.Check, f.Checked, f.Pool = CheckJRuby, now, pool
	f.Value = fmt.Sprintf("%d of %d ready, %d at work, %d waiting", pool.Ready(), pool.Size, len(pool.Borrowed), len(pool.Waiting))
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

// judge concludes from the pool now and the one before.
func (j *JRuby) judge(p *Pool, now time.Time) Finding {
	switch {
	case p.Ready() >= p.Size:
		j.complete, j.since = true, time.Time{}
	case p.Ready() == 0:
		j.complete, j.since = false, now // flushed: as good as a start
	case !j.complete && j.since.IsZero():
		j.since = now
	}
	stuckAfter := orDefault(j.StuckAfter, DefaultStuckAfter)
	warmingMax := orDefault(j.WarmingMax, DefaultWarmingMax)
	locked := p.Locked(now)
	switch {
	case p.Stuck() >= stuckAfter:
		return Finding{State: StateBad, Health: Unhealthy, Reason: JRubyStuck, Threshold: stuckAfter.String(),
			Detail: fmt.Sprintf("%d requests wait and no JRuby came back for %s; the oldest loan is %s", len(p.Waiting), p.Stuck().Round(time.Second), oldest(p.Borrowed))}
	case locked >= stuckAfter:
		return Finding{State: StateBad, Health: Unhealthy, Reason: JRubyLocked, Threshold: stuckAfter.String(),
			Detail: fmt.Sprintf("the pool has been locked (%s) for %s: no request is served", p.Lock, locked.Round(time.Second))}
	case p.held():
		return Finding{State: StateWarn, Health: Busy, Reason: JRubyLocked, Threshold: stuckAfter.String(),
			Detail: fmt.Sprintf("the pool has been locked (%s) for %s", p.Lock, locked.Round(time.Second))}
	case !j.complete && now.Sub(j.since) < warmingMax:
		return Finding{State: StateBad, Health: Warming, Reason: JRubyWarming, Threshold: fmt.Sprint(p.Size),
			Detail: fmt.Sprintf("%d of %d JRubies are ready", p.Ready(), p.Size)}
	case !j.complete:
		return Finding{State: StateWarn, Health: Busy, Reason: JRubyWarming, Threshold: fmt.Sprint(p.Size),
			Detail: fmt.Sprintf("only %d of %d JRubies are ready after %s", p.Ready(), p.Size, warmingMax)}
	case p.Saturated():
		return Finding{State: StateWarn, Health: Busy, Reason: JRubyBusy,
			Detail: fmt.Sprintf("%d requests wait for a JRuby, the oldest is %s", len(p.Waiting), oldest(p.Waiting))}
	}
	return j.judgeCounts(p)
}

// judgeCounts looks at what went wrong since the last look.
func (j *JRuby) judgeCounts(p *Pool) Finding {
	if j.last != nil && p.Timeouts > j.last.Timeouts {
		return Finding{State: StateWarn, Health: Busy, Reason: JRubyBusy,
			Detail: fmt.Sprintf("%d requests gave up waiting for a JRuby", p.Timeouts-j.last.Timeouts)}
	}
	if j.last != nil && p.LimitHits > j.last.LimitHits {
		return Finding{State: StateWarn, Health: Busy, Reason: JRubyBusy,
			Detail: fmt.Sprintf("%d requests were turned away at max-queued-requests", p.LimitHits-j.last.LimitHits)}
	}
	return Finding{State: StateOK, Reason: OK}
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}
