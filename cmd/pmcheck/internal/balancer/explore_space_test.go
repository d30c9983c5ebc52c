package balancer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
	"github.com/pmcheck/pmcheck/drain"
)

// A space is a set of schedules: a pool whose masters all leave, and what is chosen in it. All moments lie on a grid
// of half a round trip.
type space struct {
	haproxy.Settings                        // of the pool's backend
	turn             *haproxy.Settings      // of the backend 0-turn; nil: there is none
	third            func() *haproxy.Server // one more server of 0-turn, which is always up; nil: there is none

	size      int           // masters
	processes int           // HAProxy processes
	locked    bool          // the checks of a backend begin in the same moment
	coarse    int           // holds and disturbances come at every so many places of the grid; 0: at each
	phases    int           // the same for the phases of checks
	apart     time.Duration // the holds are set within this time; 0: at the same moment
	work      time.Duration // how long a hold is firm
	again     int           // how often each master leaves once more, as soon as it is back
	reboots   bool          // a master does not answer meanwhile

	// Disturbances, each at a moment of this time after the first hold; 0: there is none.
	lifts    time.Duration // a hold that is still leaving is lifted, and set again
	restarts time.Duration // a daemon stops, or is killed, and the next one starts
	reloads  time.Duration // a HAProxy reloads
	dies     time.Duration // a host dies, for deadFor
	// One check takes so much longer, there or back: each is a choice.
	slow []time.Duration

	breaks  []string // what is known to happen although it never should
	delays  int      // how many random delays are a choice, before they follow from the choices so far
	orders  int      // the same for the order of simultaneous events
	samples int      // how many schedules are drawn; 0: all are tried
}

const (
	// deadFor is longer than HAProxy takes to see it, and shorter than a server is expected back.
	deadFor = 20 * time.Second
	// savedBefore is how old the file is that a daemon that is killed leaves.
	savedBefore = 3 * time.Second
	// slowest is how many of the checks after the hold may be the slow one.
	slowest = 24
)

func (sp *space) grid() time.Duration   { return sp.RoundTrip / 2 }
func (sp *space) period() time.Duration { return sp.Inter + sp.RoundTrip }

// longestPeriod is that of the backend which is checked less often.
func (sp *space) longestPeriod() time.Duration {
	if sp.turn == nil {
		return sp.period()
	}
	return max(sp.period(), sp.turn.Inter+sp.turn.RoundTrip)
}

// run runs one schedule, until all masters have left and are back.
func (sp *space) run(c *choices, story *strings.Builder) *schedule {
	s := &schedule{
		space:   sp,
		choices: c,
		story:   story,
	}
	for i := range sp.size {
		s.masters = append(s.masters, &master{
			name:    fmt.Sprintf("m%d", i+1),
			tracker: new(balancer.Tracker),
			mode:    drain.Ready,
		})
	}

	settled := 4 * sp.longestPeriod()
	s.hold = settled + s.moment(sp.period(), s.coarse)
	for i := range sp.processes {
		s.balancers = append(s.balancers, s.start(i))
	}
	for i, m := range s.masters {
		m.held = s.hold
		if i > 0 && sp.apart > 0 {
			m.held += s.moment(sp.apart, s.coarse)
		}
		s.at(m.held, m, change, func() { s.drain(m) })
	}
	s.disturb()

	for !s.over(s) {
		s.next()
	}
	return s
}

// disturb chooses the disturbances.
func (s *schedule) disturb() {
	later := func(within time.Duration) time.Duration { return s.hold + s.moment(within, s.coarse) }
	if s.lifts > 0 {
		m, when, pause := s.anyMaster(), later(s.lifts), s.grid()+s.moment(s.period(), s.coarse)
		s.at(when, m, change, func() {
			if !m.done && m.mode != drain.Ready {
				s.lift(m)
				s.at(when+pause, m, change, func() { s.drain(m) })
			}
		})
	}
	if s.restarts > 0 {
		m, when, killed := s.anyMaster(), later(s.restarts), s.pick(start, 2) == 1
		if killed {
			s.at(when-savedBefore, m, change, func() { s.save(m) })
		}
		s.at(when, m, change, func() {
			if !killed {
				s.save(m)
			}
			s.restart(m)
		})
	}
	if s.reloads > 0 {
		i, when := s.pick(start, s.processes), later(s.reloads)
		s.at(when, s.balancers[i], change, func() { s.reload(i) })
	}
	if s.dies > 0 {
		m, when := s.anyMaster(), later(s.dies)
		s.at(when, m, change, func() { s.die(m, true) })
		s.at(when+deadFor, m, change, func() { s.die(m, false) })
	}
	if len(s.slow) > 0 {
		s.slowCheck = 1 + s.pick(start, slowest)
		s.slowBy = s.slow[s.pick(start, len(s.slow))]
		s.slowBack = s.pick(start, 2) == 1
	}
}

func (s *schedule) anyMaster() *master { return s.masters[s.pick(start, s.size)] }

// moment chooses one within some time: a place of the grid, or every so many.
func (s *schedule) moment(within time.Duration, every int) time.Duration {
	step := s.grid() * time.Duration(max(1, every))
	return time.Duration(s.pick(start, max(1, int(within/step)))) * step
}

// latency returns how long the next check takes to the master and back.
func (s *schedule) latency(b *backend) (there, back time.Duration) {
	there, back = b.RoundTrip/2, b.RoundTrip/2
	if s.now < s.hold {
		return there, back
	}
	s.checks++
	switch {
	case s.checks != s.slowCheck:
	case s.slowBack:
		back += s.slowBy
	default:
		there += s.slowBy
	}
	return there, back
}

// choices are what is chosen in one schedule, in the order in which the questions come up. The next schedule takes
// the next answer to the last question that has one. The questions before it come up again, because nothing else
// decides what happens.
type choices struct {
	space  *space
	made   []choice
	asked  int // how many of them have come up again
	count  [3]int
	random *rand.Rand // draws the answers; nil: they are taken in turn
}

type choice struct{ answer, of int }

type question int

const (
	start question = iota // phases, and moments of holds and disturbances
	delay
	order
)

// pick returns one of n answers.
func (c *choices) pick(q question, n int) int {
	if n <= 1 {
		return 0
	}
	c.count[q]++
	switch {
	case c.asked < len(c.made):
	case c.random != nil:
		c.made = append(c.made, choice{c.random.IntN(n), n})
	case q == delay && c.count[q] > c.space.delays, q == order && c.count[q] > c.space.orders:
		c.made = append(c.made, choice{c.derived(n), 0})
	default:
		c.made = append(c.made, choice{0, n})
	}
	c.asked++
	return c.made[c.asked-1].answer
}

// derived returns an answer that follows from those before.
func (c *choices) derived(n int) int {
	sum := uint32(2166136261)
	for _, m := range c.made {
		sum = (sum ^ uint32(m.answer)) * 16777619
	}
	return int(sum>>8) % n
}

// likely returns the share of the schedule, if each answer to a question is as likely.
func (c *choices) likely() float64 {
	if c.random != nil {
		return 1 / float64(c.space.samples)
	}
	share := 1.0
	for _, m := range c.made {
		share /= float64(max(1, m.of))
	}
	return share
}

// rewind goes back to the start of the same schedule.
func (c *choices) rewind() { c.asked, c.count = 0, [3]int{} }

// next goes to the next schedule, and reports whether there is one.
func (c *choices) next() bool {
	c.rewind()
	for i, m := range slices.Backward(c.made) {
		if m.answer+1 < m.of {
			c.made[i].answer++
			c.made = c.made[:i+1]
			return true
		}
	}
	return false
}

// draw goes to a schedule drawn by chance.
func (c *choices) draw(seed uint64) {
	c.rewind()
	c.made = c.made[:0]
	c.random = rand.New(rand.NewPCG(seed, 0))
}

const ms = time.Millisecond

// pair is a pool of two masters behind one HAProxy, which is so far away that checks cross often.
func pair(change ...func(*space)) *space {
	sp := &space{
		Settings: haproxy.Settings{
			Inter:        time.Second,
			Fall:         3,
			Rise:         2,
			DisableOn404: true,
			RoundTrip:    200 * ms,
		},
		size:      2,
		processes: 1,
		work:      4 * time.Second,
		delays:    2,
		orders:    2,
	}
	for _, f := range change {
		f(sp)
	}
	return sp
}

// turns adds the backend 0-turn, which is checked every second. It comes after what changes the pool.
func turns(sp *space) {
	sp.breaks = nil
	sp.turn = &haproxy.Settings{
		Inter:        time.Second,
		FastInter:    sp.FastInter,
		Fall:         3,
		Rise:         2,
		DisableOn404: sp.DisableOn404,
		Timeout:      sp.Timeout,
		RoundTrip:    sp.RoundTrip,
	}
}

func every(inter, roundTrip time.Duration) func(*space) {
	return func(sp *space) { sp.Inter, sp.RoundTrip = inter, roundTrip }
}

func plain(sp *space)     { sp.DisableOn404 = false }
func fast(sp *space)      { sp.FastInter = sp.Inter / 4 }
func slowstart(sp *space) { sp.Slowstart = 5 * time.Second }
func timeout(sp *space)   { sp.Timeout = 10 * time.Second }

func locked(sp *space)  { sp.locked = true }
func three(sp *space)   { sp.size, sp.delays = 3, 3 }
func twoLBs(sp *space)  { sp.processes = 2 }
func apart(sp *space)   { sp.apart = 8 * time.Second }
func reboots(sp *space) { sp.reboots = true }

func lifts(sp *space)    { sp.lifts = 10 * time.Second }
func restarts(sp *space) { sp.restarts = 10 * time.Second }
func dies(sp *space)     { sp.dies = 10 * time.Second }

// reloads: a new HAProxy has every server UP, one failure from DOWN. A master that is being refused cannot tell its
// header from that of the old one.
func reloads(sp *space) {
	sp.reloads = 10 * time.Second
	sp.breaks = []string{unexplained, tooMany}
}

// late has one answer come late. If its check has a shorter timeout, it has failed: a master that was refused before,
// and keeps its place now, is DOWN all the same.
func late(sp *space) {
	sp.breaks = append(sp.breaks, unexplained)
	sp.slow = []time.Duration{300 * ms, 900 * ms, 2 * time.Second, 4 * time.Second, 8 * time.Second}
}

func twice(sp *space) { sp.again = 1 }

// halfHours is longer than a server that is missing is expected back.
func halfHours(sp *space) { sp.work, sp.again = 31*time.Minute, 1 }

// backup adds to 0-turn a server that is always up, and used if no other is, so that HAProxy does not report the
// backend as one without a server.
func backup(sp *space) {
	sp.third = func() *haproxy.Server { return &haproxy.Server{Name: "none", Weight: 1, Backup: true} }
}

// light adds a server that is always used. Once the other master has been gone for so long that it is not expected
// back, the backend is no mutex any more.
func light(sp *space) {
	sp.breaks = []string{inSpite, tooLate}
	sp.third = func() *haproxy.Server { return &haproxy.Server{Name: "none", Weight: 1} }
}

// sparse tries phases and moments at every so many places of the grid.
func sparse(phases, moments int) func(*space) {
	return func(sp *space) { sp.phases, sp.coarse = phases, moments }
}

func drawn(n int) func(*space) { return func(sp *space) { sp.samples = n } }

// A region is a space with a name.
type region struct {
	name string
	*space
}

// small are the spaces that are tried whole each day.
func small() []region {
	return []region{
		{name: "a pair", space: pair(sparse(1, 4))},
		{name: "a pair, 503", space: pair(plain, sparse(1, 4))},
		{name: "a pair in step, turns", space: pair(locked, sparse(2, 4), turns)},
		{name: "a pair, turns", space: pair(sparse(4, 12), turns)},
	}
}

// whole are those that take minutes.
func whole() []region {
	every2s := func(roundTrip time.Duration) func(*space) { return every(2*time.Second, roundTrip) }
	return []region{
		{name: "a pair, 2 s, RT 50 ms", space: pair(every2s(50*ms), sparse(1, 5))},
		{name: "a pair, 2 s, RT 50 ms, 503", space: pair(every2s(50*ms), plain, sparse(1, 5))},
		{name: "a pair, 2 s, RT 50 ms, in step", space: pair(every2s(50*ms), locked)},
		{name: "three, 2 s, RT 100 ms, in step", space: pair(every2s(100*ms), three, locked, sparse(1, 2))},
		{name: "a pair, turns, all", space: pair(sparse(2, 2), turns)},
	}
}

// sampled are spaces that are too large, each with and without the turn backend.
func sampled() (list []region) {
	add := func(name string, change ...func(*space)) {
		list = append(list,
			region{name: name, space: pair(append(change, drawn(3_000))...)},
			region{name: name + ", turns", space: pair(append(change, drawn(3_000), turns)...)},
		)
	}
	add("a pair, 2 s, RT 10 ms", every(2*time.Second, 10*ms))
	add("a pair, 2 s, RT 1 ms", every(2*time.Second, ms))
	add("a pair, 2 s, RT 50 ms", every(2*time.Second, 50*ms))
	for _, name := range []string{"404", "503"} {
		on := func(sp *space) { sp.DisableOn404 = name == "404" }
		add("held at different moments, "+name, on, apart)
		add("held again at once, "+name, on, twice)
		add("held again at once, two HAProxy, "+name, on, twice, twoLBs)
		add("fastinter, "+name, on, fast)
		add("slowstart, "+name, on, slowstart)
		add("masters that reboot, "+name, on, reboots)
		add("two HAProxy, "+name, on, twoLBs)
		add("three masters, "+name, on, three)
		add("three masters in step, "+name, on, three, locked)
		add("three masters, two HAProxy, "+name, on, three, twoLBs)
		add("HAProxy reloads, "+name, on, reloads)
		add("a daemon restarts, "+name, on, restarts)
		add("a hold is lifted, "+name, on, lifts)
		add("one of three dies, "+name, on, three, dies)
		add("all of this, "+name, on, three, twoLBs, reloads, restarts, lifts, dies)
		add("a late answer, "+name, on, late)
		add("a late answer, timeout check 10s, "+name, on, late, timeout)
		add("a late answer, timeout check 10s, a hold is lifted, "+name, on, late, timeout, lifts)
		add("a late answer, timeout check 10s, HAProxy reloads, "+name, on, late, timeout, reloads)
		add("a late answer, timeout check 10s, one of three dies, "+name, on, late, timeout, three, dies)
	}
	return list
}

// thirds are pools whose turn backend has one more server.
func thirds() (list []region) {
	for _, name := range []string{"a backup", "a light server"} {
		third := backup
		if name == "a light server" {
			third = light
		}
		list = append(list,
			region{name: name, space: pair(drawn(3_000), turns, third)},
			region{name: name + ", HAProxy reloads", space: pair(reloads, drawn(3_000), turns, third)},
			region{name: name + ", one of three dies", space: pair(three, dies, drawn(3_000), turns, third)},
			region{name: name + ", a hold is lifted", space: pair(lifts, drawn(3_000), turns, third)},
			region{name: name + ", works of half an hour", space: pair(halfHours, drawn(100), turns, third)},
		)
	}
	return list
}
