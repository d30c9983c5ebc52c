package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/bounded"
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
	// master out. Instances that a flush has ended never do.
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
		Reasons: slices.Concat(
			causes(OfMaster, Warming, "every JRuby has been ready at once, or jruby.warming_max is over",
				row{
					reason: JRubyWarming,
					begins: "after a start or a flush, not every JRuby is ready yet",
					hint:   "wait: JRubies start one after another; if some never start, look in puppetserver.log",
				},
			),
			causes(OfMaster, Busy, "a JRuby is free, or no request waits",
				row{
					reason: JRubyBusy,
					begins: "requests wait for a JRuby, or gave up, or the master has more of them than threads",
					hint: "raise max-active-instances in puppetserver.conf, add a master, or spread the agents' runs (splay); " +
						"against herds set max-queued-requests, 12 for each JRuby, with max-retry-delay, a minute or more",
				},
			),
			causes(OfMaster, Unhealthy, "a JRuby comes back, or the master closes its port",
				row{
					reason: JRubyStuck,
					begins: "requests wait, and no JRuby came back for jruby.stuck_after",
					hint: "if the detail names a loan, a hanging generate(), ENC or PuppetDB query holds the JRuby; " +
						"else see puppetserver.log. Restart Puppet Server to get rid of it",
				},
			),
			causes(OfMaster, Unhealthy, "the lock is released, or the master closes its port",
				row{
					reason: JRubyLocked,
					begins: "the pool has been locked, for jruby.stuck_after if the master is out",
					hint:   "a code deployment holds the pool (file-sync); lockless deploys avoid it",
				},
			),
		),
		Settings: JRubySettings{WarmingMax: 5 * time.Minute, StuckAfter: 2 * time.Minute},
		Observe: Observe(func(s JRubySettings, seen *Seen) Observer {
			return (&poolCheck{JRubySettings: s, seenPool: &seen.pool}).observe
		}),
	}
}

// JRuby returns the settings of the check jruby.
func (l List) JRuby() JRubySettings { return settingsOf[JRubySettings](l) }

// poolCheck judges the pool of JRuby instances. The Status API says running as soon as the
// first instance is ready, and while none is returned; the pool shows both.
type poolCheck struct {
	JRubySettings
	*seenPool
}

// seenPool is what is remembered of a pool.
type seenPool struct {
	found    Finding   // the last finding for a response
	started  bool      // all instances have been ready at once since the last start, or WarmingMax is over
	since    time.Time // when instances began to be missing, after a start or a flush
	empty    time.Time // when the last instance was lost; zero while there is one
	last     *Pool     // nil after a start
	stuck    time.Time // when the pool was found stuck; zero once a JRuby has come back
	listener string    // of the process that the pool belongs to; empty if it is not known
	complete string    // of a process whose pool another daemon has seen complete; empty if there is none
}

// PoolMemory is what a daemon leaves to the next of a master's pool.
type PoolMemory struct {
	Complete   bool      // its process has started all instances, or WarmingMax is over
	StuckSince time.Time // when it was found stuck; zero if it is not
	Listener   string    // see Listening.ID
}

// Pool returns what the next daemon has to know of the pool that was seen.
func (s *Seen) Pool() PoolMemory {
	return PoolMemory{Complete: s.pool.started, StuckSince: s.pool.stuck, Listener: s.pool.listener}
}

// Recall makes the check jruby go on from what another daemon has left. It must be called before the first result is
// observed.
func (s *Seen) Recall(left PoolMemory) {
	s.pool = seenPool{listener: left.Listener}
	if left.Complete {
		s.pool.complete = left.Listener
	}
	if left.StuckSince.IsZero() {
		return
	}

	f := finding(StateBad, Unhealthy, JRubyStuck, "no JRuby has come back since %s, as the daemon before has seen",
		left.StuckSince.UTC().Format(time.RFC3339))
	f.Check = CheckJRuby
	f.Checked = left.StuckSince
	s.pool.found = f
	s.pool.started = true
	s.pool.stuck = left.StuckSince
}

// observe returns the finding for a result. What it cannot find out is unknown, and never
// counts against the master: older servers lack the service, or have another format. But what was found of the pool
// stays until the pool says otherwise: it lasts while the master is silent, and a pool that does not serve
// outlasts responses without a pool.
func (c *poolCheck) observe(r Result, now time.Time) Finding {
	c.follow(r.Listener)

	fails := r.Fault != nil && r.Pool == nil // a master that accepts no new connection still tells its pool
	if fails && r.Fault.Reason == puppetclient.Timeout {
		return c.found
	}

	if fails && healthOf(r.Fault.Reason) == Unknown {
		return c.unseen(r.Fault)
	}
	if fails {
		c.end(r.Fault)
		return c.found
	}

	answeredBefore := c.found.Check != ""
	if !answeredBefore && hasNoPool(r) {
		return Finding{}
	}
	c.found = c.find(r, now)
	return c.found
}

// follow forgets the pool if another process listens than the process that had the pool. An empty listener is not
// known, and changes nothing.
func (c *poolCheck) follow(listener string) {
	if listener == "" {
		return
	}
	isAnother := c.listener != "" && c.listener != listener
	if isAnother {
		c.forget()
	}
	c.listener = listener
}

// forget forgets the pool. Its last values are still shown.
func (c *poolCheck) forget() {
	stale := c.found
	if stale.Check != "" {
		stale = stale.unknown("as it was before the master stopped answering")
	}
	*c.seenPool = seenPool{found: stale}
}

// end takes a definite fault into account. It may be the end of the server: a reload (SIGHUP) also closes the port and
// starts all instances again. Only a closed port proves it, so a pool that is stuck outlasts any other fault.
func (c *poolCheck) end(fault *Fault) {
	isStuck := !c.stuck.IsZero()
	if isStuck && fault.Reason != puppetclient.Refused {
		return
	}
	c.forget()
}

// unseen returns the finding for a fault that says nothing about the master. That JRubies cannot be
// seen is a warning, unless the pool did not serve when it was seen last.
func (c *poolCheck) unseen(fault *Fault) Finding {
	f := c.found
	neverSeen := f.Check == ""
	if neverSeen || outOfService(f) {
		return f
	}

	f.State = StateWarn
	f.Health = ""
	f.Reason = fault.Reason
	f.Detail = "it is not seen whether JRubies are stuck: " + fault.Error()
	return f
}

func outOfService(f Finding) bool { return f.Health != "" && !f.Health.Serves() }

// hasNoPool reports whether the master is too old to have JRubies.
func hasNoPool(r Result) bool {
	fault := faultOf(r.PoolErr)
	return fault != nil && fault.Reason == NoStatusAPI
}

// find returns the finding for a response.
func (c *poolCheck) find(r Result, now time.Time) Finding {
	if r.Pool == nil {
		return c.withoutPool(r, now)
	}

	c.guessStart(r.Pool, now)
	isComplete := c.complete != "" && c.complete == r.Listener
	c.started = c.started || isComplete
	f := c.judge(r.Pool, now)
	c.last = r.Pool

	f.Check = CheckJRuby
	f.Checked = r.Asked
	f.Pool = r.Pool
	f.Value = fmt.Sprintf("%d of %d ready, %d at work, %d waiting",
		r.Pool.Ready(), r.Pool.Size, len(r.Pool.Borrowed), len(r.Pool.Waiting))
	return f
}

// withoutPool returns the finding for a response that does not show the pool.
func (c *poolCheck) withoutPool(r Result, now time.Time) Finding {
	hasStarted := c.found.Health == Warming && now.Sub(c.since) >= c.WarmingMax
	if outOfService(c.found) && !hasStarted {
		return c.found
	}

	f := Finding{Check: CheckJRuby, Checked: r.Asked}
	if r.Denied == nil {
		return f.unknown(fmt.Sprint(r.PoolErr))
	}
	f.State = StateWarn
	f.Reason = r.Denied.Reason
	f.Detail = r.Denied.Error() + ". It is not seen whether JRubies still start or are stuck, " +
		"and which requests hold them"
	return f
}

// guessStart takes the age of a server that was not observed before from the pool's lock: its state began no earlier
// than the server, since it is set at the start and whenever it changes. Instances that are missing in a young server
// have not started yet; an instance that is missing in an old server is being replaced or was lost. A server that does
// not tell counts as young.
func (c *poolCheck) guessStart(p *Pool, now time.Time) {
	observedBefore := c.last != nil
	clockWasSetBack := p.LockSince.After(now)
	if observedBefore || clockWasSetBack || p.LockSince.IsZero() {
		return
	}
	c.since = p.LockSince
	c.started = now.Sub(p.LockSince) >= c.WarmingMax
}

// judge returns the finding for a pool, given what earlier pools have shown.
func (c *poolCheck) judge(p *Pool, now time.Time) Finding {
	c.count(p, now)
	if f := c.unserved(p, now); f.State == StateBad {
		return f
	}

	// This comes before the lock: when that is released, instances are still missing.
	if !c.started {
		return finding(StateBad, Warming, JRubyWarming, "%d of %d JRubies are ready", p.Ready(), p.Size)
	}
	return c.busy(p, now)
}

// count notes since when instances are missing, and whether all have started.
func (c *poolCheck) count(p *Pool, now time.Time) {
	if p.Ready() >= p.Size {
		c.started = true
		c.since = time.Time{}
		c.empty = time.Time{}
		return
	}

	// In a server that has started, an instance that is missing is being replaced or was lost.
	if p.Ready() > 0 {
		c.empty = time.Time{}
		if !c.started && c.since.IsZero() {
			c.since = now
		}
		c.started = c.started || now.Sub(c.since) >= c.WarmingMax
		return
	}

	// A start or a flush has begun.
	if c.empty.IsZero() {
		c.since = now
		c.empty = now
	}
}

// unserved returns the finding for a pool that has served no request for StuckAfter, by this count or, once found
// stuck, until a JRuby has come back; else a zero Finding.
func (c *poolCheck) unserved(p *Pool, now time.Time) Finding {
	if c.stuck.After(now) { // the clock was set back
		c.stuck = now
	}
	if c.cameBack(p, now) {
		c.stuck = time.Time{}
	}

	f := c.byCount(p, now)
	if f.Reason == JRubyStuck && c.stuck.IsZero() {
		c.stuck = now
	}
	isStuck := !c.stuck.IsZero()
	if f.Reason == JRubyStuck || !isStuck {
		return f
	}

	// Requests that have given up leave a pool with no request waiting, which is as stuck as before.
	f = finding(StateBad, Unhealthy, JRubyStuck, "no JRuby has come back since %s; %d are at work, and %d requests wait",
		c.stuck.UTC().Format(time.RFC3339), len(p.Borrowed), len(p.Waiting))
	if len(p.Borrowed) > 0 {
		f.Detail += "; the oldest loan is " + oldest(p.Borrowed)
	}
	return f
}

// cameBack reports whether a JRuby has come back since the pool was found stuck: it is free, or was lent since then.
func (c *poolCheck) cameBack(p *Pool, now time.Time) bool {
	return p.Free > 0 || len(p.Borrowed) > 0 && youngest(p.Borrowed) < now.Sub(c.stuck)
}

// byCount returns the finding for a pool by whose count no request has been served for StuckAfter; else a zero Finding.
func (c *poolCheck) byCount(p *Pool, now time.Time) Finding {
	if p.unreturned() >= c.StuckAfter {
		return finding(StateBad, Unhealthy, JRubyStuck,
			"%d requests wait and no JRuby came back for %s; the oldest loan is %s",
			len(p.Waiting), text.Age(p.unreturned()), oldest(p.Borrowed))
	}

	// With a borrow-timeout below StuckAfter, requests give up before they have waited for so long.
	allAreLent := p.Free == 0 && len(p.Borrowed) > 0
	if allAreLent && c.gaveUp(p) && youngest(p.Borrowed) >= c.StuckAfter {
		return finding(StateBad, Unhealthy, JRubyStuck,
			"requests gave up waiting, and no JRuby came back for %s; the oldest loan is %s",
			text.Age(youngest(p.Borrowed)), oldest(p.Borrowed))
	}

	// A server that has started loses all its instances in a flush, DELETE /puppet-admin-api/v1/jruby-pool, which a
	// deployment of code may send to all masters at once. Requests wait meanwhile.
	without := time.Duration(0)
	if c.started && !c.empty.IsZero() {
		without = now.Sub(c.empty)
	}
	if without >= c.StuckAfter {
		return finding(StateBad, Unhealthy, JRubyStuck,
			"no JRuby has been ready for %s, and %d requests wait", text.Age(without), len(p.Waiting))
	}

	if locked := p.lockedFor(now); locked >= c.StuckAfter {
		return finding(StateBad, Unhealthy, JRubyLocked,
			"the pool has been locked (%s) for %s: no request is served", p.Lock, text.Age(locked))
	}
	return Finding{}
}

// busy returns the finding for a pool that has started and serves requests, perhaps slowly.
func (c *poolCheck) busy(p *Pool, now time.Time) Finding {
	if p.locked() {
		return finding(StateWarn, Busy, JRubyLocked,
			"the pool has been locked (%s) for %s", p.Lock, text.Age(p.lockedFor(now)))
	}
	if !c.since.IsZero() {
		return finding(StateWarn, Busy, JRubyWarming,
			"%d of %d JRubies are ready, %s after a start or a flush", p.Ready(), p.Size, text.Age(now.Sub(c.since)))
	}
	if p.saturated() {
		return finding(StateWarn, Busy, JRubyBusy,
			"%d requests wait for a JRuby, the oldest is %s", len(p.Waiting), oldest(p.Waiting))
	}

	if c.gaveUp(p) || c.turnedAway(p) {
		return finding(StateWarn, Busy, JRubyBusy,
			"%d requests gave up waiting for a JRuby, %d were turned away at max-queued-requests",
			max(0, p.Timeouts-c.last.Timeouts), max(0, p.LimitHits-c.last.LimitHits))
	}
	return Finding{State: StateOK, Reason: OK}
}

// gaveUp reports whether requests have given up waiting since the last look.
func (c *poolCheck) gaveUp(p *Pool) bool { return c.last != nil && p.Timeouts > c.last.Timeouts }

// turnedAway reports whether requests have found the queue full since the last look.
func (c *poolCheck) turnedAway(p *Pool) bool { return c.last != nil && p.LimitHits > c.last.LimitHits }

// Pool is Puppet Server's pool of JRuby instances at one moment.
type Pool struct {
	Size     int    `json:"size"`     // max-active-instances
	Free     int    `json:"free"`     // started and idle
	Borrowed []Loan `json:"borrowed"` // at work
	Waiting  []Loan `json:"waiting"`  // requests that wait for an instance
	// Lock is the state of the pool's lock: not-in-use, requested or acquired.
	Lock      string    `json:"lock"`
	LockSince time.Time `json:"lock_since,omitzero"` // when the lock entered that state
	Timeouts  int64     `json:"borrow_timeouts"`     // requests that gave up waiting since the server started
	LimitHits int64     `json:"queue_limit_hits"`    // requests turned away at the queue's limit since then
}

// Loan is one request, with an instance or waiting for one.
type Loan struct {
	Request string  `json:"request"`          // method and path, as far as the server reports them
	Seconds float64 `json:"duration_seconds"` // for how long
}

func (l Loan) age() time.Duration { return time.Duration(l.Seconds * float64(time.Second)) }

func byAge(a, b Loan) int { return cmp.Compare(a.Seconds, b.Seconds) }

// Ready returns how many instances are started, idle or at work. It is below Size
// while the server starts or replaces instances.
func (p *Pool) Ready() int { return p.Free + len(p.Borrowed) }

func (p *Pool) saturated() bool { return p.Free == 0 && len(p.Waiting) > 0 }

// locked reports whether the pool lends nothing: it waits until every instance is returned, from the moment when a
// lock is requested.
func (p *Pool) locked() bool { return p.Lock == "requested" || p.Lock == "acquired" }

// lockedFor returns for how long the pool has been locked; 0 if it is not, or does not tell.
func (p *Pool) lockedFor(now time.Time) time.Duration {
	if !p.locked() || p.LockSince.IsZero() {
		return 0
	}
	return max(0, now.Sub(p.LockSince))
}

// unreturned returns for how long requests have waited without any instance being
// returned. While requests wait, a returned instance is lent again at once, so this
// is the age of the youngest loan, but not more than the longest wait: a long compile is no
// reason to take a master out to which a request has just come.
func (p *Pool) unreturned() time.Duration {
	if !p.saturated() || len(p.Borrowed) == 0 {
		return 0
	}
	return min(youngest(p.Borrowed), slices.MaxFunc(p.Waiting, byAge).age())
}

// youngest returns the age of the loan that began last. The list must not be empty.
func youngest(loans []Loan) time.Duration { return slices.MinFunc(loans, byAge).age() }

// oldest names the loan that has lasted longest. The list must not be empty.
func oldest(loans []Loan) string {
	found := slices.MaxFunc(loans, byAge)
	return found.Request + " for " + text.Age(found.age())
}

// poolStatus is the response of the service jruby-metrics at level debug.
type poolStatus struct {
	Status struct {
		Experimental struct {
			Lock struct {
				State   string    `json:"current-state"`
				Changed time.Time `json:"last-change-time"`
			} `json:"jruby-pool-lock-status"`
			Metrics poolMetrics `json:"metrics"`
		} `json:"experimental"`
	} `json:"status"`
}

// poolMetrics has pointers to the fields that must be there, to tell a missing field from zero: Puppet Server
// calls the payload experimental.
type poolMetrics struct {
	Size      *int       `json:"num-jrubies"`
	Free      *int       `json:"num-free-jrubies"`
	Borrowed  *poolLoans `json:"borrowed-instances"`
	Waiting   *poolLoans `json:"requested-instances"`
	Timeouts  int64      `json:"borrow-timeout-count"`
	LimitHits int64      `json:"queue-limit-hit-count"`
}

// poolLoans is a list of maxLoans at most.
type poolLoans []poolLoan

// UnmarshalJSON returns an error for a list that is too long.
func (l *poolLoans) UnmarshalJSON(data []byte) (err error) {
	*l, err = bounded.List[poolLoan](data, maxLoans)
	return err
}

type poolLoan struct {
	Millis float64 `json:"duration-millis"`
	Reason struct {
		Request struct {
			URI    string `json:"uri"`
			Method string `json:"request-method"`
		} `json:"request"`
	} `json:"reason"`
}

// Bounds on what is kept of a response.
const (
	maxPath    = 120    // bytes of a request's method and path
	maxLock    = 40     // bytes of the state of the lock
	maxLoans   = 2000   // Jetty lets about 200 requests wait
	maxJRubies = 10_000 // each takes some 100 MiB of the server's memory
	maxSeconds = 1e9
)

func parsePool(body []byte) (*Pool, error) {
	var s poolStatus
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, err
	}
	m := s.Status.Experimental.Metrics
	if err := m.validate(); err != nil {
		return nil, err
	}

	lock := s.Status.Experimental.Lock
	return &Pool{
		Size:      *m.Size,
		Free:      *m.Free,
		Borrowed:  loans(*m.Borrowed),
		Waiting:   loans(*m.Waiting),
		Lock:      text.Printable(strings.TrimPrefix(lock.State, ":"), maxLock),
		LockSince: lock.Changed,
		Timeouts:  m.Timeouts,
		LimitHits: m.LimitHits,
	}, nil
}

// validate returns an error for a pool that cannot be.
func (m poolMetrics) validate() error {
	hasCounts := m.Size != nil && m.Free != nil
	hasLists := m.Borrowed != nil && m.Waiting != nil
	if !hasCounts || !hasLists {
		return errors.New("num-jrubies, num-free-jrubies, borrowed-instances or requested-instances is missing")
	}

	impossible := *m.Size < 1 || *m.Free < 0
	if impossible || max(*m.Size, *m.Free) > maxJRubies {
		return errors.New("impossible number of instances")
	}
	return nil
}

func loans(list []poolLoan) []Loan {
	kept := make([]Loan, 0, len(list))
	for _, l := range list {
		path, _, _ := strings.Cut(l.Reason.Request.URI, "?")
		method := strings.ToUpper(strings.TrimPrefix(l.Reason.Request.Method, ":"))
		kept = append(kept, Loan{
			Request: text.Printable(method+" "+path, maxPath),
			Seconds: min(max(0, l.Millis/1000), maxSeconds),
		})
	}
	return kept
}
