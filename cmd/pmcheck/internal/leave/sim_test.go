package leave_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

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

type shape struct {
	haproxy.Settings
	masters   int
	balancers int
	maxOut    int
	locked    bool // the checks of all servers of a balancer begin in the same moment
	budget    bool
	blind     bool // balancers send no view
	fleet     bool // the other masters are asked
	listed    bool // the setting balancers names the balancers
}

// A pool is a simulated pool: HAProxy and the masters in virtual time, with the daemon's own tracker and
// rule, and the way out and back itself.
type pool struct {
	shape
	members  []*member
	backends []*haproxy.Live
	mu       sync.Mutex
	slots    map[string]bool
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
	verdict   check.Verdict
	agents    time.Time // when the last agent will have finished
	started   time.Time
	noDaemon  bool
}

// run starts a pool, and calls f once it is in service. The pool ends when f returns.
func (s shape) run(t *testing.T, f func(ctx context.Context, p *pool)) {
	p := &pool{shape: s, slots: map[string]bool{}}
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
				verdict: check.Verdict{Health: check.Healthy, Since: time.Now()},
				started: time.Now(),
			}
			m.tracker = new(balancer.Tracker)
			m.holds = m.store.Read()
			p.members = append(p.members, m)
		}
		for i := range p.balancers {
			p.balance(ctx, i)
		}
		time.Sleep(2 * time.Minute)
		p.outage() // that of the start does not count
		f(ctx, p)
		cancel()
		time.Sleep(s.Inter + s.DownInter) // every goroutine has seen it
	})
}

func (p *pool) balance(ctx context.Context, i int) {
	b := &haproxy.Live{
		Backend: haproxy.Backend{Settings: p.Settings, Node: fmt.Sprintf("lb%d", i), Name: "puppet"},
	}
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
	b.Start(time.Now())
	p.backends = append(p.backends, b)
	for _, s := range b.Servers {
		go b.Run(ctx, s)
	}
}

// outage returns the worst of the balancers' outages since it was called last.
func (p *pool) outage() (none time.Duration, out int) {
	for _, b := range p.backends {
		noneOf, outOf := b.Outage()
		none, out = max(none, noneOf), max(out, outOf)
	}
	return none, out
}

func (m *member) answer(from netip.Addr, header string) int {
	m.mu.Lock()
	now := time.Now()
	holds, verdict, tracker := m.holds, m.verdict, m.tracker
	deaf := m.noDaemon || verdict.Health == check.Unknown // or the host is down
	m.mu.Unlock()
	if deaf {
		return 0
	}
	mode, _ := holds.Mode(monitor.Server, now)
	codes := answer.Codes{Drain: 503, Maint: 503}
	if m.DisableOn404 {
		codes.Drain = 404
	}
	if m.blind {
		header = ""
	}
	c := balancer.Check{Source: from, Service: monitor.Server, Codes: codes, View: header, Listed: m.listed}
	a, shift := tracker.Answer(c, m.rule(holds, now), func(spare bool) answer.Answer {
		return answer.Decide(mode, verdict, codes, spare)
	})
	time.Sleep(rand.N(shift + 1))
	return a.Code
}

func (m *member) rule(holds drain.Snapshot, now time.Time) balancer.Rule {
	return balancer.NewRule(holds, monitor.Server, m.maxOutSetting(), now)
}

func (s shape) maxOutSetting() config.MaxOut { return config.MaxOut(strconv.Itoa(s.maxOut)) }

func (m *member) status() status.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, balancers := time.Now(), m.tracker.All()
	mode, _ := m.holds.Mode(monitor.Server, now)
	jruby := check.Finding{Check: check.CheckJRuby, Checked: now, Pool: &check.Pool{}}
	if now.Before(m.agents) {
		jruby.Pool.Borrowed = []check.Loan{{Request: "GET /puppet/v3/catalog/a"}}
	}
	s := status.Status{
		Time:    now,
		Started: m.started,
		Services: []status.ServiceStatus{{
			Name:         monitor.Server,
			Mode:         mode,
			Leaving:      m.holds.Leaving(monitor.Server, now),
			ModeSince:    m.modeSince,
			ServingSince: slices.MaxFunc([]time.Time{m.modeSince, m.verdict.Since}, time.Time.Compare),
			Verdict:      m.verdict,
			Answer:       answer.Decide(mode, m.verdict, answer.Codes{}, true),
			Checks:       []check.Finding{jruby},
		}},
		Balancers:     balancers.Current(now),
		BalancerAsked: balancers.Asked(),
		Probe:         status.ProbeStatus{Asked: now},
	}
	s.Services[0].Keeps = m.rule(m.holds, now).Keeps(s.Balancers, m.budget)
	return s
}

func (m *member) world() leave.World {
	pause := time.Duration(0)
	w := leave.World{
		Next: func(ctx context.Context) (status.Status, error) {
			time.Sleep(pause)
			pause = time.Second // in truth a quarter: TestAKillHarmsNobody has a pool for each look
			m.mu.Lock()
			noDaemon := m.noDaemon
			m.mu.Unlock()
			if noDaemon {
				return status.Status{}, errors.Join(status.ErrNoDaemon, ctx.Err())
			}
			return m.status(), ctx.Err()
		},
		Runs:        func(context.Context) bool { return false },
		Connections: func() ([]tcp.Connection, error) { return nil, nil },
		Holds:       m,
		MaxOut:      m.maxOutSetting(),
		Say:         func(string) {},
		Note:        func(string) {},
	}
	if m.budget {
		w.Claim = m.claim
	}
	if m.fleet {
		w.Fleet = m.ask
	}
	return w
}

func (m *member) ask(context.Context) (others []leave.Witness, place int) {
	time.Sleep(10 * time.Millisecond)
	for i, o := range m.members {
		if o == m {
			place = i
			continue
		}
		w := leave.Witness{Host: o.name, Code: 503}
		v := o.status().Services[0]
		switch {
		case v.Verdict.Health == check.Unknown:
			w.Code = 0
		case v.Serves():
			w.Code = 200
		}
		w.For = time.Since(v.ServingSince)
		others = append(others, w)
	}
	return others, place
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
func (m *member) Change(holder, service string, next func(drain.Hold) (drain.Hold, error)) (drain.Hold, error) {
	h, err := m.store.Change(holder, service, next)
	m.noticed()
	return h, err
}

func (m *member) Read() drain.Snapshot { return m.store.Read() }

func (m *member) noticed() {
	time.Sleep(5 * time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	before, _ := m.holds.Mode(monitor.Server, time.Now())
	m.holds = m.store.Read()
	if mode, _ := m.holds.Mode(monitor.Server, time.Now()); mode != before {
		m.modeSince = time.Now()
	}
}

// withoutDaemon kills the daemon after some time, and starts the next one later.
func (m *member) withoutDaemon(after, out time.Duration) {
	time.Sleep(after)
	m.mu.Lock()
	m.noDaemon = true
	m.mu.Unlock()
	time.Sleep(out)
	next := new(balancer.Tracker)
	next.Restore(m.tracker.All(), time.Now())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tracker, m.started, m.noDaemon = next, time.Now(), false
}

func (m *member) becomes(h check.Health) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.verdict = check.Verdict{Health: h, Since: time.Now()}
}

// restart is a restart of the service with the guard: out, down for a while, and back.
func (m *member) restart(ctx context.Context) error {
	m.mu.Lock()
	if now := time.Now(); m.agents.Before(now) {
		m.agents = now.Add(rand.N(20 * time.Second))
	}
	m.mu.Unlock()
	_, err := leave.Out(ctx, m.world(), command(stop))
	m.isDown()
	back := leave.Back(ctx, m.world(), limits().Return, drain.Guard)
	if m.budget {
		go m.giveBack(ctx)
	}
	return errors.Join(err, back)
}

func (m *member) isDown() {
	m.becomes(check.Unhealthy)
	time.Sleep(40 * time.Second)
	m.becomes(check.Healthy)
}

// giveBack returns the slot as the daemon does.
func (m *member) giveBack(ctx context.Context) {
	for step := leave.SlotRenew; ctx.Err() == nil && step != leave.SlotReturn; time.Sleep(time.Second) {
		s := m.status()
		s.Budget = &status.BudgetStatus{View: budget.View{Held: true}}
		step, _ = leave.Slot(s)
	}
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	delete(m.slots, m.name)
}

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
	locked := func(s *shape) { s.locked = true }
	every1s := func(s *shape) { s.Inter = time.Second }
	plain := func(s *shape) { s.DisableOn404 = false }
	slowstart := func(s *shape) { s.Slowstart = 20 * time.Second }
	downinter := func(s *shape) { s.DownInter = 30 * time.Second }
	balancers := func(n int) func(*shape) { return func(s *shape) { s.balancers = n } }
	twoOut := func(s *shape) { s.maxOut = 2 }
	withBudget := func(s *shape) { s.budget = true }
	for name, s := range map[string]shape{
		"a pair":                       ordinary(2),
		"a pair, locked":               ordinary(2, locked),
		"a pair, every second":         ordinary(2, every1s),
		"a pair, 503":                  ordinary(2, plain),
		"a pair, 503, locked":          ordinary(2, plain, locked),
		"a pair, slowstart":            ordinary(2, slowstart),
		"a pair, downinter 30s":        ordinary(2, plain, downinter),
		"a pair, two balancers":        ordinary(2, balancers(2)),
		"a pair, three balancers, 503": ordinary(2, plain, balancers(3)),
		"three":                        ordinary(3),
		"three, two balancers, 503":    ordinary(3, plain, balancers(2)),
		"ten":                          ordinary(10),
		"ten, two may be out":          ordinary(10, twoOut, balancers(2)),
		"a pair, budget":               ordinary(2, withBudget),
		"ten, budget":                  ordinary(10, twoOut, withBudget),
		"a pair, fleet":                ordinary(2, withFleet),
		"three, fleet":                 ordinary(3, withFleet),
		"ten, fleet":                   ordinary(10, withFleet),
	} {
		t.Run(name, func(t *testing.T) { s.simulate(t, seeds(8)) })
	}
}

func (s shape) simulate(t *testing.T, n int) {
	bad, most := 0, 0
	var longest, slowest time.Duration
	for i := range n {
		within := []time.Duration{0, 2 * time.Second, 6 * time.Second, time.Minute}[i%4]
		s.run(t, func(ctx context.Context, p *pool) {
			began := time.Now()
			var group errgroup.Group
			for _, m := range p.members {
				group.Go(func() error {
					time.Sleep(rand.N(within + 1)) // they leave at random moments
					return m.restart(ctx)
				})
			}
			if err := group.Wait(); err != nil {
				t.Error(err)
			}
			none, out := p.outage()
			if none > 0 {
				bad++
			}
			most, longest, slowest = max(most, out), max(longest, none), max(slowest, time.Since(began))
		})
	}
	t.Logf("of %d: %d without a server, for %s at most; at most %d out; the slowest took %s",
		n, bad, longest, most, slowest)
	recovery := 2 * s.Inter
	if !s.DisableOn404 {
		recovery = time.Duration(1+s.Rise) * max(s.Inter, s.DownInter)
	}
	extra := 1 // checks in flight together
	if s.budget {
		extra = 0
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

// ordinary is a pool of some masters behind one HAProxy that asks every 2 s and knows NOLB.
func ordinary(masters int, change ...func(*shape)) shape {
	s := shape{
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
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

// withFleet has the masters ask each other, since balancers send no view.
func withFleet(s *shape) { s.fleet, s.blind, s.DisableOn404 = true, true, false }

func alsoFleet(s *shape) { s.fleet = true }
func listed(s *shape)    { s.listed = true }

func (p *pool) assertNoOutage(t *testing.T) {
	t.Helper()
	if none, _ := p.outage(); none > 0 {
		t.Errorf("no server for %s", none)
	}
}

// state returns what the first balancer has concluded of a master.
func (p *pool) state(i int) haproxy.State { return p.backends[0].State(p.backends[0].Servers[i]) }
