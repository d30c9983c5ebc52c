package leave_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/client"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/fleet"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
	"github.com/pmcheck/pmcheck/drain"
)

type shape struct {
	haproxy.Settings
	masters   int
	balancers int
	maxOut    int
	locked    bool          // the checks of all servers of a balancer begin in the same moment
	turns     bool          // each balancer has a backend without agents that sorts first
	downFor   time.Duration // how long a restart takes
	budget    bool
	blind     bool // balancers send no view
	fleet     bool // the other masters are asked
	listed    bool // the setting balancers names the balancers
	young     bool // the daemons have just started, without the memory of others, when the masters leave
	ipv6      bool // the balancers have addresses of one /64
	longNames bool // the names of the balancers are too long for a daemon
	tracks    bool // the servers of the pool's backend track those of the one for turns, and are not checked
	twins     bool // the balancers have one name and address, and each asks less often than the one before
}

// A pool is a simulated pool: HAProxy and the masters in virtual time, with the daemon's own tracker and
// rule, and the way out and back itself.
type pool struct {
	shape
	seed     uint64
	t        *testing.T
	members  []*member
	backends []*haproxy.Live
	mu       sync.Mutex
	slots    map[string]bool
}

// A member is a master of the pool, with its daemon.
type member struct {
	*pool
	name     string
	tracker  *balancer.Tracker
	unlisted balancer.Tracker // of clients that the setting balancers does not list
	store    *drain.Store

	mu        sync.Mutex
	onDisk    drain.Snapshot // what a command reads; reading it each time was a third of the work
	holds     drain.Snapshot // what the daemon has seen of it
	modeSince time.Time
	verdict   check.Verdict
	agents    time.Time // when the last agent will have finished
	started   time.Time
	listens   time.Time // since when its daemons have heard balancers: the next one has the memory of the last
	noDaemon  bool
}

func TestMain(m *testing.M) {
	if _, err := os.Stat("/dev/shm"); err == nil { // a disk that is busy elsewhere takes long to sync
		os.Setenv("TMPDIR", "/dev/shm")
	}
	m.Run()
}

// seeds returns the seeds of the pools of a shape: 1 to few. LAB_SEEDS asks for another number of pools, and LAB_SEED
// is the first seed: one that is to be repeated, or "random".
func seeds(few int) (list []uint64) {
	first := uint64(1)
	if text := os.Getenv("LAB_SEED"); text == "random" {
		first = rand.Uint64()
	} else if seed, err := strconv.ParseUint(text, 10, 64); err == nil {
		first = seed
		few = 1
	}
	if n, err := strconv.Atoi(os.Getenv("LAB_SEEDS")); err == nil {
		few = n
	}

	for i := range few {
		list = append(list, first+uint64(i))
	}
	return list
}

// random returns the random numbers of one part of the pool, which must be used by one goroutine at a time.
func (p *pool) random(part string) *rand.Rand {
	h := fnv.New64()
	fmt.Fprint(h, part)
	return rand.New(rand.NewPCG(p.seed, h.Sum64()))
}

// upTo returns a random duration below most.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

// run is runWith the first seed.
func (s shape) run(t *testing.T, f func(ctx context.Context, p *pool)) { s.runWith(seeds(1)[0], t, f) }

// runWith starts a pool, and calls f once it is in service. The pool ends when f returns.
func (s shape) runWith(seed uint64, t *testing.T, f func(ctx context.Context, p *pool)) {
	p := &pool{shape: s, slots: map[string]bool{}, seed: seed, t: t}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat it with LAB_SEED=%d", p.seed)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		for i := range p.masters {
			m := &member{
				pool:    p,
				name:    fmt.Sprintf("m%03d", i),
				store:   &drain.Store{Persistent: t.TempDir(), UntilReboot: t.TempDir()},
				verdict: check.Verdict{Health: check.Healthy, Since: time.Now()},
				started: time.Now(),
				listens: time.Now(),
			}
			m.tracker = new(balancer.Tracker)
			m.onDisk = m.store.Read()
			m.holds = m.onDisk
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

// balance starts a balancer: the backend of the pool and, before that, the one for turns.
func (p *pool) balance(ctx context.Context, i int) {
	node := fmt.Sprintf("lb%d", i)
	slower := 1.0
	if p.twins {
		node = "lb"
		slower += 0.3 * float64(i)
	}
	if p.longNames {
		node += strings.Repeat("x", 128)
	}
	if p.turns {
		settings := haproxy.Settings{
			Inter:        time.Second,
			Fall:         3,
			Rise:         2,
			DisableOn404: p.DisableOn404,
			RoundTrip:    p.RoundTrip,
		}
		settings.Inter = time.Duration(slower * float64(settings.Inter))
		b := &haproxy.Live{Backend: haproxy.Backend{Settings: settings, Node: node, Name: balancer.TurnBackend}}
		p.start(ctx, i, b)
		if p.tracks {
			p.backends = append(p.backends, b)
			return
		}
	}
	settings := p.Settings
	settings.Inter = time.Duration(slower * float64(settings.Inter))
	b := &haproxy.Live{Backend: haproxy.Backend{Settings: settings, Node: node, Name: "puppet"}}
	p.start(ctx, i, b)
	p.backends = append(p.backends, b)
}

// network is that of the balancers.
func (s shape) network() netip.Prefix {
	if s.ipv6 {
		return netip.MustParsePrefix("2001:db8::/64")
	}
	return netip.MustParsePrefix("198.51.100.0/24")
}

// address returns the nth address of the balancers' network.
func (s shape) address(n int) netip.Addr {
	a := s.network().Addr()
	for range n {
		a = a.Next()
	}
	return a
}

func (p *pool) start(ctx context.Context, i int, b *haproxy.Live) {
	from := p.address(i + 1)
	phases := p.random(b.Node + b.Name)
	if p.twins {
		from = p.address(1)
		phases = p.random(fmt.Sprint(b.Node, i, b.Name))
	}
	phase := upTo(phases, b.Inter)
	for n, m := range p.members {
		if !p.locked {
			phase = upTo(phases, b.Inter)
		}
		shifts := p.random(b.Node + b.Name + m.name)
		b.Servers = append(b.Servers, &haproxy.Server{
			Name:   m.name,
			Weight: 100,
			Phase:  phase + time.Duration(n)*time.Microsecond,
			Check:  func(header string) int { return m.answer(from, header, shifts) },
		})
	}
	b.Start(time.Now())
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

func (m *member) answer(from netip.Addr, header string, shifts *rand.Rand) int {
	m.mu.Lock()
	now := time.Now()
	state, tracker := m.state(now), m.tracker
	deaf := m.noDaemon || m.verdict.Health == check.Unknown // or the host is down
	m.mu.Unlock()
	if deaf {
		return 0
	}
	codes := answer.Codes{Drain: 503, Maint: 503}
	if m.DisableOn404 {
		codes.Drain = 404
	}
	moment, _ := state.At(drain.Master, now)
	decide := func(spare bool) answer.Answer { return answer.Decide(moment, codes, spare) }
	ours := m.network().Contains(from)
	if m.blind && ours {
		header = ""
	}
	if m.listed && !ours {
		tracker = &m.unlisted
	}

	c := balancer.Check{Source: from, Service: drain.Master, Codes: codes, Header: header, Listed: m.listed && ours}
	rule := balancer.NewRule(moment, state.Leaves(now), m.maxOutSetting())
	a, shift := tracker.Answer(c, rule, decide)
	time.Sleep(upTo(shifts, shift+1))
	return a.Code
}

// state returns what the monitor of the daemon has published. The caller must hold the lock.
func (m *member) state(now time.Time) *monitor.State {
	jruby := check.Finding{Check: check.CheckJRuby, Checked: now, Pool: &check.Pool{}}
	if now.Before(m.agents) {
		jruby.Pool.Borrowed = []check.Loan{{Request: "GET /puppet/v3/catalog/a"}}
	}
	return &monitor.State{
		Published: now,
		Holds:     m.holds,
		Findings:  []check.Finding{jruby},
		Result:    check.Result{Asked: now},
		Services: []monitor.Service{{
			Name:           drain.Master,
			Verdict:        m.verdict,
			Probes:         1,
			ModeSince:      m.modeSince,
			InServiceSince: slices.MaxFunc([]time.Time{m.modeSince, m.verdict.Since}, time.Time.Compare),
		}},
	}
}

func (s shape) maxOutSetting() answer.MaxOut { return answer.MaxOut{Number: s.maxOut} }

// status returns the status of the daemon, made as the daemon makes it.
func (m *member) status() status.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	settings := defaults
	settings.MaxOut = m.maxOutSetting()
	facts := status.Facts{
		Started:      m.started,
		ListensSince: m.listens,
		State:        m.state(now),
		Settings:     &settings,
		Balancers:    m.tracker.All(),
		Unseen:       m.tracker.Unseen(),
		Connections:  func() ([]sockets.Connection, error) { return nil, nil },
	}
	if m.budget {
		facts.Budget = &status.BudgetStatus{Reachable: true, Usage: budget.Usage{HasSlot: true}}
	}
	s := status.New(facts, now)
	s.Budget = nil // the database decides, not what the daemon has seen of it
	return s
}

func (m *member) world() leave.World {
	w := leave.World{
		Every: time.Second, // in truth a quarter: TestAKillHarmsNobody has a pool for each look
		Status: func(ctx context.Context) (status.Status, error) {
			m.mu.Lock()
			noDaemon := m.noDaemon
			m.mu.Unlock()
			if noDaemon {
				return status.Status{}, errors.Join(client.ErrNoDaemon, ctx.Err())
			}
			return m.status(), ctx.Err()
		},
		Runs:        func(context.Context) bool { return false },
		Connections: func(string) ([]sockets.Connection, error) { return nil, nil },
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

func (m *member) ask(context.Context) (others []fleet.Witness, place int) {
	time.Sleep(10 * time.Millisecond)
	for i, o := range m.members {
		if o == m {
			place = i
			continue
		}
		others = append(others, o.witness())
	}
	return others, place
}

// witness is what the daemon answers another master: that it is out, as soon as a hold is leaving.
func (m *member) witness() fleet.Witness {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := fleet.Witness{Host: m.name}
	if m.verdict.Health == check.Unknown { // the host is down
		return w
	}
	now := time.Now()
	moment, _ := m.state(now).At(drain.Master, now)
	w.Code = answer.Decide(moment, answer.Codes{}, true).Code
	w.For = now.Sub(moment.InServiceSince)
	return w
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
func (m *member) Change(
	holder string, service drain.Service, next func(drain.Hold) (drain.Hold, error),
) (drain.Hold, error) {
	h, err := m.store.Change(holder, service, next)
	m.noticed()
	return h, err
}

// liftAll lifts every hold, as an operator does.
func (m *member) liftAll() error {
	_, err := m.store.LiftAll()
	m.noticed()
	return err
}

func (m *member) Read() drain.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.onDisk
}

// noticed has the daemon see what was written, a moment later.
func (m *member) noticed() {
	written := m.store.Read()
	m.mu.Lock()
	m.onDisk = written
	m.mu.Unlock()
	time.Sleep(5 * time.Millisecond)
	m.mu.Lock()
	defer m.mu.Unlock()
	before, _ := m.holds.Mode(drain.Master, time.Now())
	m.holds = m.onDisk
	if mode, _ := m.holds.Mode(drain.Master, time.Now()); mode != before {
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
	next.Restore(saved(m.tracker.All()), time.Now())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tracker, m.started, m.noDaemon = next, time.Now(), false
}

// forgets replaces the daemon by one that has the memory of none.
func (m *member) forgets() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tracker = new(balancer.Tracker)
	m.started = time.Now()
	m.listens = time.Now()
}

// saved returns what is left of a list that one daemon writes and the next one reads.
func saved(list balancer.List) balancer.List {
	var read balancer.Saved
	data, err := json.Marshal(list.Save())
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil {
		panic(err)
	}
	return read.List()
}

// worksUntil has the last agent of the master finish at a moment.
func (m *member) worksUntil(end time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.agents = end
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
		m.agents = now.Add(upTo(m.random("agents"+m.name), 20*time.Second))
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
	time.Sleep(cmp.Or(m.downFor, 40*time.Second))
	m.becomes(check.Healthy)
}

// giveBack returns the slot as the daemon does.
func (m *member) giveBack(ctx context.Context) {
	for step := budget.Renew; ctx.Err() == nil && step != budget.Return; time.Sleep(time.Second) {
		s := m.status()
		s.Budget = &status.BudgetStatus{Usage: budget.Usage{HasSlot: true}}
		step, _ = leave.KeepSlot(s)
	}
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	delete(m.slots, m.name)
}

// defaults are the settings of every simulated daemon, made once: that asks each check for its own.
var defaults = config.Default()

func limits() config.Guard { return defaults.Guard }

// TestSimulatedPools: all masters of a pool restart, whenever they begin. A pool that has a backend for turns, or a
// budget, never has a moment without a server, nor more masters out than may be. Without one, checks may cross, which
// heals at the next ones. All masters finish.
func TestSimulatedPools(t *testing.T) {
	t.Parallel()
	locked := func(s *shape) { s.locked = true }
	every1s := func(s *shape) { s.Inter = time.Second }
	plain := func(s *shape) { s.DisableOn404 = false }
	slowstart := func(s *shape) { s.Slowstart = 20 * time.Second }
	downinter := func(s *shape) { s.DownInter = 30 * time.Second }
	far := func(s *shape) { s.RoundTrip = 50 * time.Millisecond }
	balancers := func(n int) func(*shape) { return func(s *shape) { s.balancers = n } }
	twoOut := func(s *shape) { s.maxOut = 2 }
	for name, s := range map[string]shape{
		"a pair":                        ordinary(2, turns),
		"a pair, locked":                ordinary(2, turns, locked, far),
		"a pair, every second":          ordinary(2, turns, every1s),
		"a pair, 503":                   ordinary(2, turns, plain),
		"a pair, 503, locked":           ordinary(2, turns, plain, locked, far),
		"a pair, slowstart":             ordinary(2, turns, slowstart),
		"a pair, downinter 30s":         ordinary(2, turns, plain, downinter),
		"a pair, two balancers":         ordinary(2, turns, balancers(2)),
		"a pair, three balancers, 503":  ordinary(2, turns, plain, balancers(3)),
		"three":                         ordinary(3, turns),
		"three, locked":                 ordinary(3, turns, locked, far),
		"three, two balancers, 503":     ordinary(3, turns, plain, balancers(2)),
		"ten":                           ordinary(10, turns),
		"ten, two may be out":           ordinary(10, turns, twoOut, balancers(2)),
		"a pair, budget":                ordinary(2, withBudget),
		"a pair, budget of two":         ordinary(2, turns, twoOut, withBudget, balancers(2)),
		"ten, budget":                   ordinary(10, twoOut, withBudget),
		"a pair, fleet":                 ordinary(2, withFleet),
		"three, fleet":                  ordinary(3, withFleet),
		"ten, fleet":                    ordinary(10, withFleet),
		"a pair, fleet beside views":    ordinary(2, turns, alsoFleet),
		"a pair, listed":                ordinary(2, turns, listed, alsoFleet),
		"a pair, without turns":         ordinary(2),
		"a pair, locked, without turns": ordinary(2, locked, far),
		"three, locked, without turns":  ordinary(3, locked, far),
		"a pair, 503, without turns":    ordinary(2, plain),
	} {
		t.Run(name, func(t *testing.T) { s.simulate(t, seeds(2)) })
	}
}

// TestThirtyMastersRestartInTheSameMinute, each for 90 s and with slowstart: their turns take longer than guard.turn
// and are renewed.
func TestThirtyMastersRestartInTheSameMinute(t *testing.T) {
	t.Parallel()
	long := func(s *shape) { s.downFor, s.Slowstart = 90*time.Second, 60*time.Second }
	ordinary(30, turns, long).simulate(t, seeds(1))
}

// TestAHundredMastersRestartInTheSameMinute: only views of listed balancers renew a turn for as long as that takes.
func TestAHundredMastersRestartInTheSameMinute(t *testing.T) {
	if os.Getenv("PMCHECK_LONG") == "" {
		t.Skip("PMCHECK_LONG is not set: minutes of a processor")
	}
	minute := func(s *shape) { s.downFor = time.Minute }
	ordinary(100, turns, listed, minute).simulate(t, seeds(1))
}

func (s shape) simulate(t *testing.T, seeds []uint64) {
	bad, most := 0, 0
	var longest, slowest time.Duration
	for _, seed := range seeds {
		within := []time.Duration{0, 2 * time.Second, 6 * time.Second, time.Minute}[seed%4]
		s.runWith(seed, t, func(ctx context.Context, p *pool) {
			began := time.Now()
			moments := p.random("moments")
			var group errgroup.Group
			for _, m := range p.members {
				after := upTo(moments, within+1)
				group.Go(func() error {
					time.Sleep(after)
					return m.restart(ctx)
				})
			}
			if err := group.Wait(); err != nil {
				t.Errorf("seed %d: %v", p.seed, err)
			}
			none, out := p.outage()
			if none > 0 {
				bad++
			}
			most, longest, slowest = max(most, out), max(longest, none), max(slowest, time.Since(began))
		})
	}
	t.Logf("of %d: %d without a server, for %s at most; at most %d out; the slowest took %s",
		len(seeds), bad, longest, most, slowest)

	heals := s.crossing()
	extra := 0
	if heals > 0 {
		extra = s.masters - s.maxOut
	}
	each := cmp.Or(s.downFor, 40*time.Second) + 40*time.Second + s.Slowstart
	if longest > heals {
		t.Errorf("one has had no server for %s, want at most %s", longest, heals)
	}
	if most > s.maxOut+extra {
		t.Errorf("%d were out at once, want at most %d", most, s.maxOut+extra)
	}
	if most := 3*time.Minute + time.Duration(s.masters/s.maxOut)*each; slowest > most {
		t.Errorf("the slowest took %s, want at most %s", slowest, most)
	}
}

// crossing is how long a balancer may have no server because two checks have crossed: until the next ones heal that.
// With turns or a budget no two masters leave in the same moment. Where balancers send no view, the fleet decides.
func (s shape) crossing() time.Duration {
	if s.turns || s.budget || s.blind {
		return 0
	}
	if s.DisableOn404 {
		return 2 * s.Inter
	}
	return time.Duration(1+s.Rise) * max(s.Inter, s.DownInter)
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

// blind has balancers that send no view.
func blind(s *shape) { s.blind, s.DisableOn404 = true, false }

func turns(s *shape)      { s.turns = true }
func alsoFleet(s *shape)  { s.fleet = true }
func withBudget(s *shape) { s.budget = true }
func listed(s *shape)     { s.listed = true }
func young(s *shape)      { s.young = true }
func ipv6(s *shape)       { s.ipv6 = true }

func (p *pool) assertNoOutage(t *testing.T) {
	t.Helper()
	if none, _ := p.outage(); none > 0 {
		t.Errorf("no server for %s", none)
	}
}

// state returns what the first balancer has concluded of a master.
func (p *pool) state(i int) haproxy.State { return p.backends[0].State(p.backends[0].Servers[i]) }
