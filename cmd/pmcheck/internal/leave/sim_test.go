package leave_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// shape is what a simulated pool is like.
type shape struct {
	haproxy.Settings
	masters   int
	balancers int
	maxOut    int
	locked    bool          // the checks of all servers of a balancer begin in the same moment
	starts    time.Duration // the masters leave at random moments within this time
	budget    bool
	fleet     bool          // balancers send no view: the fleet is the witness
	work      time.Duration // how long a master is down
}

// A pool is a simulated pool: HAProxy and the masters in virtual time, with the daemon's own tracker and
// rule, and the way out and back itself.
type pool struct {
	shape
	t        *testing.T
	mu       sync.Mutex
	members  []*member
	backends []*haproxy.Backend
	slots    map[string]bool
	none     map[*haproxy.Backend]time.Time // since when a backend has used no server
	noneFor  time.Duration                  // the longest such time
	mostOut  int                            // the most servers that a backend has missed at once
}

// A member is a master of the pool, with its daemon.
type member struct {
	*pool
	name    string
	tracker *balancer.Tracker
	store   *drain.Store

	mu        sync.Mutex
	holds     drain.Snapshot
	modeSince time.Time
	health    check.Health
	since     time.Time // of health
	agents    time.Time // when the last agent will have finished
	started   time.Time
	changes   chan struct{} // closed with the next change
	noDaemon  bool
}

// run starts a pool, and calls f once it is in service. The pool ends when f returns.
func (s shape) run(t *testing.T, f func(ctx context.Context, p *pool)) {
	p := &pool{shape: s, t: t, none: map[*haproxy.Backend]time.Time{}, slots: map[string]bool{}}
	if _, err := os.Stat("/dev/shm"); err == nil { // a disk that is busy elsewhere takes long to sync
		t.Setenv("TMPDIR", "/dev/shm")
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		for i := range p.masters {
			m := &member{
				pool:    p,
				name:    fmt.Sprintf("m%03d", i),
				store:   &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()},
				health:  check.Healthy,
				since:   time.Now(),
				started: time.Now(),
				changes: make(chan struct{}),
			}
			m.tracker = balancer.NewTracker(m.changed)
			m.holds = m.store.Read()
			p.members = append(p.members, m)
		}
		for i := range p.balancers {
			p.balance(ctx, i)
		}
		time.Sleep(2 * time.Minute)
		p.mu.Lock()
		p.noneFor, p.mostOut = 0, 0
		p.mu.Unlock()
		f(ctx, p)
		cancel()
		time.Sleep(s.Inter + s.DownInter) // every goroutine has seen it
	})
}

// balance starts the checks of one HAProxy.
func (p *pool) balance(ctx context.Context, i int) {
	b := &haproxy.Backend{Settings: p.Settings, Node: fmt.Sprintf("lb%d", i), Name: "puppet", Changed: p.changed}
	from := netip.AddrFrom4([4]byte{198, 51, 100, byte(i + 1)})
	phase := rand.N(p.Inter)
	for n, m := range p.members {
		if !p.locked {
			phase = rand.N(p.Inter)
		}
		b.Servers = append(b.Servers, &haproxy.Server{
			Name:   m.name,
			Weight: 100,
			Phase:  phase + time.Duration(n)*time.Microsecond,
			Check:  func(header string) int { return m.answer(from, header) },
		})
	}
	b.Start()
	p.backends = append(p.backends, b)
	for _, s := range b.Servers {
		go b.Run(ctx, s)
	}
}

// changed notes which servers a balancer uses.
func (p *pool) changed(b *haproxy.Backend) {
	used := len(b.UsedLocked())
	p.mu.Lock()
	defer p.mu.Unlock()
	since, none := p.none[b]
	if none {
		p.noneFor = max(p.noneFor, time.Since(since))
	}
	switch {
	case used == 0 && !none:
		p.none[b] = time.Now()
	case used > 0:
		delete(p.none, b)
	}
	p.mostOut = max(p.mostOut, len(b.Servers)-used)
}

// outage returns the longest time for which a balancer has used no server so far, and the most servers
// that one has missed.
func (p *pool) outage() (none time.Duration, out int) {
	for _, b := range p.backends {
		b.Look()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.noneFor, p.mostOut
}

// answer is the daemon's answer to a check.
func (m *member) answer(from netip.Addr, header string) int {
	m.mu.Lock()
	now := time.Now()
	holds, health, tracker := m.holds, m.health, m.tracker
	deaf := m.noDaemon || health == check.Unknown // or the host is down
	m.mu.Unlock()
	if deaf {
		return 0
	}
	mode, _ := holds.Mode(monitor.Server, now)
	codes := 503
	if m.DisableOn404 {
		codes = 404
	}
	decide := func(spare bool) answer.Answer {
		return answer.Decide(mode, check.Verdict{Health: health}, answer.Codes{Drain: codes}, spare)
	}
	if m.fleet {
		header = ""
	}
	a, delay := tracker.Answer(balancer.Check{
		Source:  from,
		Service: monitor.Server,
		Codes:   answer.Codes{Drain: codes, Maint: 503},
		View:    header,
	}, m.rule(holds, now), decide, now)
	time.Sleep(delay)
	return a.Code
}

// rule is that of the daemon.
func (m *member) rule(holds drain.Snapshot, now time.Time) balancer.Rule {
	return balancer.NewRule(holds, monitor.Server, config.MaxOut(strconv.Itoa(m.maxOut)), now)
}

func (m *member) changed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.changes)
	m.changes = make(chan struct{})
}

// status is what the daemon says.
func (m *member) status() status.Status {
	m.mu.Lock()
	tracker := m.tracker
	m.mu.Unlock()
	now := time.Now()
	balancers := tracker.Current(now) // without the lock, which a change of them takes
	m.mu.Lock()
	defer m.mu.Unlock()
	mode, _ := m.holds.Mode(monitor.Server, now)
	verdict := check.Verdict{Health: m.health, Since: m.since}
	jruby := check.Finding{Check: check.CheckJRuby, Checked: now, Pool: &check.Pool{}}
	if now.Before(m.agents) {
		jruby.Pool.Borrowed = []check.Loan{{Request: "GET /puppet/v3/catalog/a"}}
	}
	s := status.Status{
		Time:    now,
		Started: m.started,
		Services: []status.ServiceStatus{{
			Name:      monitor.Server,
			Mode:      mode,
			Leaving:   m.holds.Leaving(monitor.Server, now),
			ModeSince: m.modeSince,
			Verdict:   verdict,
			Answer:    answer.Decide(mode, verdict, answer.Codes{}, true),
			Checks:    []status.CheckStatus{{Finding: jruby}},
		}},
		Balancers: balancers,
		Probe:     status.ProbeStatus{Asked: now},
	}
	s.Services[0].Keeps = m.rule(m.holds, now).Keeps(monitor.Server, s.Balancers, m.budget)
	return s
}

// world returns the world of a command on this master.
func (m *member) world() leave.World {
	first := true
	w := leave.World{
		Next: func(ctx context.Context) (status.Status, error) {
			m.mu.Lock()
			changes, noDaemon := m.changes, m.noDaemon
			m.mu.Unlock()
			if noDaemon {
				time.Sleep(250 * time.Millisecond)
				return status.Status{}, errors.Join(status.ErrNoDaemon, ctx.Err())
			}
			if !first {
				select {
				case <-ctx.Done():
					return status.Status{}, ctx.Err()
				case <-changes:
				case <-time.After(time.Second):
				}
			}
			first = false
			return m.status(), ctx.Err()
		},
		Connections: func(string) ([]tcp.Connection, error) { return nil, nil },
		Holds:       m,
		Say:         func(line string) { m.log("waits: " + line) },
		Note:        func(line string) { m.log(line) },
	}
	if m.budget {
		w.Claim = m.claim
	}
	if m.fleet {
		w.Fleet = m.ask
	}
	return w
}

// ask is what the other masters answer.
func (m *member) ask(context.Context) (others []leave.Witness, place int) {
	time.Sleep(10 * time.Millisecond)
	for i, o := range m.members {
		if o == m {
			place = i
			continue
		}
		w := leave.Witness{Host: o.name, Code: 503, Answer: "503 drain"}
		v := o.status().Services[0]
		if o.is(check.Unknown) {
			w.Code = 0
		} else if v.Serves() {
			w.Code = 200
		}
		w.For = time.Since(later(v.ModeSince, v.Verdict.Since))
		others = append(others, w)
	}
	return others, place
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (m *member) is(h check.Health) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.health == h
}

func (m *member) log(line string) {
	if os.Getenv("LAB_LOG") != "" {
		m.t.Log(time.Now().Format("15:04:05.000"), m.name, line)
	}
}

// claim takes a slot in a budget like that of the database.
func (m *member) claim(_ context.Context, want budget.Claim) error {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	if len(m.slots) < m.maxOut || m.slots[m.name] || want.Force {
		m.slots[m.name] = true
		return nil
	}
	taken := &budget.TakenError{Allowed: m.maxOut}
	for name := range m.slots {
		taken.Slots = append(taken.Slots, budget.Slot{Master: name})
	}
	return taken
}

// Change implements leave.Holds: the daemon sees what is written a moment later.
func (m *member) Change(holder, service string, next func(drain.Hold) drain.Hold) (drain.Hold, error) {
	h, err := m.store.Change(holder, service, next)
	m.log(fmt.Sprintf("hold %s %q", h.Mode, h.Leaving))
	m.noticed()
	return h, err
}

// Undo implements leave.Holds.
func (m *member) Undo(set, before drain.Hold) (bool, error) {
	defer m.noticed()
	m.log("undoes its hold")
	return m.store.Undo(set, before)
}

// Read implements leave.Holds.
func (m *member) Read() drain.Snapshot { return m.store.Read() }

func (m *member) noticed() {
	time.Sleep(5 * time.Millisecond)
	m.mu.Lock()
	before, _ := m.holds.Mode(monitor.Server, time.Now())
	m.holds = m.store.Read()
	if mode, _ := m.holds.Mode(monitor.Server, time.Now()); mode != before {
		m.modeSince = time.Now()
	}
	m.mu.Unlock()
	m.changed()
}

// withoutDaemon kills the daemon after some time, and starts the next one later.
func (m *member) withoutDaemon(after, out time.Duration) {
	set := func(dead bool) {
		m.mu.Lock()
		m.noDaemon = dead
		m.mu.Unlock()
	}
	time.Sleep(after)
	set(true)
	time.Sleep(out)
	next := balancer.NewTracker(m.changed)
	next.Restore(m.tracker.All(), time.Now())
	m.mu.Lock()
	m.tracker, m.started = next, time.Now()
	m.mu.Unlock()
	set(false)
}

// becomes sets what is true of a master.
func (m *member) becomes(h check.Health) {
	m.mu.Lock()
	m.health, m.since = h, time.Now()
	m.mu.Unlock()
	m.changed()
}

// restart is a restart of the service with the guard: out, down for a while, and back.
func (m *member) restart(ctx context.Context, limits config.Guard) error {
	m.mu.Lock()
	m.agents = later(m.agents, time.Now().Add(rand.N(20*time.Second)))
	m.mu.Unlock()
	_, err := leave.Out(ctx, m.world(), leave.Request{
		Hold: drain.Hold{Holder: drain.Guard, Mode: drain.Drain},
		Idle: true,
		Stop: &leave.Stop{Limits: limits, Check: func(context.Context) (bool, error) { return false, nil }},
	})
	m.log(fmt.Sprint("stops: ", err))
	m.becomes(check.Unhealthy)
	time.Sleep(m.work)
	m.becomes(check.Healthy)
	_, back := leave.Back(ctx, m.world(), limits.Return, drain.Guard)
	if m.budget {
		go m.giveBack(ctx)
	}
	return errors.Join(err, back)
}

// giveBack returns the slot as the daemon does.
func (m *member) giveBack(ctx context.Context) {
	settled := drain.Settle{After: budget.Settle}
	for ctx.Err() == nil && !settled.Observe(leave.SlotBack(m.status()), time.Now()) {
		time.Sleep(time.Second)
	}
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	delete(m.slots, m.name)
}

// all restarts all masters, and returns how long that took and what failed.
func (p *pool) all(ctx context.Context, limits config.Guard) (time.Duration, error) {
	began := time.Now()
	errs := make([]error, len(p.members))
	var group sync.WaitGroup
	for i, m := range p.members {
		group.Go(func() {
			if p.starts > 0 {
				time.Sleep(rand.N(p.starts))
			}
			errs[i] = m.restart(ctx, limits)
		})
	}
	group.Wait()
	return time.Since(began), errors.Join(errs...)
}

// limits are the defaults.
func limits() config.Guard { return config.Default().Guard }

// seeds is how many pools of each shape are simulated; "make proof" sets more.
func seeds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("LAB_SEEDS")); err == nil {
		return n
	}
	return few
}

// TestSimulatedPools: all masters of a pool restart, whenever they begin. Nearly no pool has a moment
// without a server, none has a long one, and all masters finish.
func TestSimulatedPools(t *testing.T) {
	nolb := ordinary(2).Settings
	plain, every1s, slow, down := nolb, nolb, nolb, nolb
	plain.DisableOn404 = false
	every1s.Inter = time.Second
	slow.Slowstart = 20 * time.Second
	down.DisableOn404, down.DownInter = false, 30*time.Second
	for _, tt := range []struct {
		name string
		shape
	}{
		{"a pair", shape{Settings: nolb}},
		{"a pair, locked", shape{Settings: nolb, locked: true}},
		{"a pair, every second", shape{Settings: every1s}},
		{"a pair, 503", shape{Settings: plain}},
		{"a pair, 503, locked", shape{Settings: plain, locked: true}},
		{"a pair, slowstart", shape{Settings: slow}},
		{"a pair, downinter 30s", shape{Settings: down}},
		{"a pair, two balancers", shape{Settings: nolb, balancers: 2}},
		{"a pair, three balancers, 503", shape{Settings: plain, balancers: 3}},
		{"three", shape{Settings: nolb, masters: 3}},
		{"three, two balancers, 503", shape{Settings: plain, masters: 3, balancers: 2}},
		{"ten", shape{Settings: nolb, masters: 10}},
		{"ten, two may be out", shape{Settings: nolb, masters: 10, maxOut: 2, balancers: 2}},
		{"a pair, budget", shape{Settings: nolb, budget: true}},
		{"ten, budget", shape{Settings: nolb, masters: 10, maxOut: 2, budget: true}},
		{"a pair, fleet", shape{Settings: plain, fleet: true}},
		{"three, fleet", shape{Settings: plain, masters: 3, fleet: true}},
		{"ten, fleet", shape{Settings: plain, masters: 10, fleet: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.simulate(t, seeds(8))
		})
	}
}

// simulate runs a number of pools whose masters all restart.
func (s shape) simulate(t *testing.T, n int) {
	s.masters, s.balancers, s.maxOut = max(2, s.masters), max(1, s.balancers), max(1, s.maxOut)
	s.work = 40 * time.Second
	bad, most := 0, 0
	var longest, slowest time.Duration
	for i := range n {
		s.starts = []time.Duration{0, 2 * time.Second, 6 * time.Second, time.Minute}[i%4]
		s.run(t, func(ctx context.Context, p *pool) {
			took, err := p.all(ctx, limits())
			if err != nil {
				t.Error(err)
			}
			none, out := p.outage()
			if none > 0 {
				bad++
			}
			most, longest, slowest = max(most, out), max(longest, none), max(slowest, took)
		})
	}
	t.Logf("of %d: %d without a server, for %s at most; at most %d out; the slowest took %s",
		n, bad, longest, most, slowest)
	recovery := 2 * s.Inter
	if !s.DisableOn404 {
		recovery = time.Duration(1+s.Rise) * max(s.Inter, s.DownInter)
	}
	extra := 1 // checks in flight together
	switch {
	case s.budget:
		extra = 0
	case slowest > balancer.ExpectedBack && s.maxOut > 1: // some are out all the time, and not expected back any more
		extra = s.maxOut
	}
	switch {
	case bad > 1+n/100+int(3*math.Sqrt(float64(n)/100)): // one of a hundred, and what chance adds
		t.Errorf("%d of %d have had no server", bad, n)
	case longest > recovery:
		t.Errorf("one has had no server for %s, want at most %s", longest, recovery)
	case most > s.maxOut+extra:
		t.Errorf("%d were out at once, want at most %d", most, s.maxOut)
	case slowest > 3*time.Minute+time.Duration(s.masters/s.maxOut)*80*time.Second:
		t.Errorf("the slowest took %s", slowest)
	}
}

// drain is the plain command without --wait for idle.
func (m *member) drain(ctx context.Context, limit time.Duration) error {
	_, err := leave.Out(ctx, m.world(), leave.Request{
		Hold: drain.Hold{Holder: drain.Operator, Mode: drain.Drain},
		Wait: limit,
	})
	return err
}

// ordinary is a pool of some masters behind one HAProxy that asks every 2 s and knows NOLB.
func ordinary(masters int) shape {
	return shape{
		Settings: haproxy.Settings{
			Inter:        2 * time.Second,
			Fall:         3,
			Rise:         2,
			DisableOn404: true,
			RoundTrip:    time.Millisecond,
		},
		masters:   masters,
		balancers: 1,
		maxOut:    1,
		work:      40 * time.Second,
	}
}

// assertNoOutage fails if a balancer has had no server.
func (p *pool) assertNoOutage(t *testing.T) {
	t.Helper()
	if none, _ := p.outage(); none > 0 {
		t.Errorf("no server for %s", none)
	}
}

// state returns what the first balancer has concluded of a master.
func (p *pool) state(i int) haproxy.State { return p.backends[0].State(p.backends[0].Servers[i]) }

// TestAHundredMasters: five may be out, which is all that keeps the restart of all from taking hours.
func TestAHundredMasters(t *testing.T) {
	if os.Getenv("LAB_PROOF") == "" {
		t.Skip("takes minutes: set LAB_PROOF")
	}
	s := ordinary(100)
	s.maxOut = 5
	s.simulate(t, seeds(1))
	s.budget = true
	s.simulate(t, seeds(1))
}

func TestASecondDrainIsTakenBackWhileTheFirstLasts(t *testing.T) {
	for _, apart := range []time.Duration{0, 6 * time.Second} {
		ordinary(2).run(t, func(ctx context.Context, p *pool) {
			errs := make(chan error, 2)
			for _, m := range p.members {
				go func() { errs <- m.drain(ctx, 5*time.Minute) }()
				time.Sleep(apart)
			}
			first, second := <-errs, <-errs
			e, is := errors.AsType[*leave.Error](second)
			if first != nil || !is || e.Kind != leave.Refused {
				t.Errorf("%v, then %v", first, second)
			}
			time.Sleep(time.Minute)
			held := len(p.members[0].Read().Holds()) + len(p.members[1].Read().Holds())
			if held != 1 {
				t.Errorf("%d hold", held)
			}
			p.assertNoOutage(t)
		})
	}
}

func TestAMasterThatIsLeavingServesAgainWhenTheOtherDies(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		leaving, other := p.members[0], p.members[1]
		leaving.agents = time.Now().Add(4 * time.Minute)
		go leaving.restart(ctx, limits())
		time.Sleep(10 * time.Second)
		if p.state(0) != haproxy.NoLB {
			t.Fatalf("it is %s", p.state(0))
		}
		other.becomes(check.Unknown)
		time.Sleep(5 * p.Inter) // three checks fail, and the next one of the other sees that
		if p.state(1) != haproxy.Down || p.state(0) != haproxy.Up {
			t.Errorf("they are %s and %s", p.state(0), p.state(1))
		}
		other.becomes(check.Healthy)
		time.Sleep(10 * time.Minute) // the agents' end, the restart and the way back
		if p.state(1) != haproxy.Up || p.state(0) != haproxy.Up {
			t.Errorf("in the end they are %s and %s", p.state(0), p.state(1))
		}
	})
}

func TestAMasterThatHasBeenOutForLongDelaysNobody(t *testing.T) {
	ordinary(3).run(t, func(ctx context.Context, p *pool) {
		p.members[2].becomes(check.Unknown)
		time.Sleep(balancer.ExpectedBack + time.Minute)
		if took, err := p.members[0].timed(ctx); err != nil || took > 90*time.Second {
			t.Errorf("took %s: %v", took, err)
		}
		p.assertNoOutage(t)
	})
}

// timed restarts the master, and returns how long that took.
func (m *member) timed(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	err := m.restart(ctx, limits())
	return time.Since(began), err
}

func TestAFlappingMasterKeepsNobodyUp(t *testing.T) {
	ordinary(2).run(t, func(ctx context.Context, p *pool) {
		stop := make(chan struct{})
		go func() {
			for flaps := check.Unhealthy; ; {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Second):
				}
				p.members[1].becomes(flaps)
				if flaps == check.Unhealthy {
					flaps = check.Healthy
				} else {
					flaps = check.Unhealthy
				}
			}
		}()
		took, err := p.members[0].timed(ctx)
		close(stop)
		t.Log(took, err)
		if took > 2*limits().Turn+10*time.Minute {
			t.Errorf("took %s: %v", took, err)
		}
	})
}
