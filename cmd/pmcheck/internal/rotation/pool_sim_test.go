package rotation_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

// A simulated pool is masters behind one HAProxy that are all told to restart. Only
// the clock is simulated: what HAProxy reports goes through a real Tracker, and each
// master leaves by a real Departure.
type simulated struct {
	*rand.Rand
	form    simulation
	now     time.Time
	masters []*simulatedMaster
	jitter  time.Duration // by which a check is early or late, at most

	emptySince time.Time
	empty      time.Duration // the longest time without a server
	out        int           // the most masters out at once
}

// A simulation is what pools have in common.
type simulation struct {
	masters  int
	fleet    bool
	graceful bool // a drain is answered 404, and one check is enough
	interval time.Duration
	within   time.Duration // in which all are told to restart
	// heavy is how many times the weight of the others the first master has.
	heavy int
}

type simulatedMaster struct {
	name    string
	weight  int // in HAProxy, on the server line
	tracker *balancer.Tracker
	skew    time.Duration // of the host's clock
	depart  rotation.Departure
	phase   func(*simulatedMaster) // what its guard does next; nil when it is done
	at      time.Time              // when, at the latest
	told    time.Time              // to restart
	drained time.Time              // when it is idle, if it may continue
	held    bool
	down    bool

	check  time.Time // the next one
	state  string    // as HAProxy has it
	health int       // checks still to fail, or to succeed
}

const simulatedFall, simulatedRise = 3, 2

func newSimulated(form simulation, seed uint64) *simulated {
	p := &simulated{Rand: rand.New(rand.NewPCG(seed, 1)), form: form, now: now()}
	for i := range form.masters {
		m := &simulatedMaster{
			name:    fmt.Sprintf("m%d.example.com", i),
			tracker: balancer.NewTracker(func() {}),
			skew:    p.upTo(400*time.Millisecond) - 200*time.Millisecond,
			check:   p.now.Add(p.upTo(form.interval)),
			state:   "UP",
			phase:   p.waits,
			weight:  100,
			told:    p.now.Add(20*time.Second + p.upTo(form.within)),
		}
		if i == 0 {
			m.weight *= form.heavy
		}
		m.at = m.told
		m.depart = rotation.Departure{Names: []string{m.name}, Draw: p.IntN}
		p.masters = append(p.masters, m)
	}
	return p
}

func (p *simulated) upTo(d time.Duration) time.Duration { return time.Duration(p.Int64N(int64(d) + 1)) }

// run takes the pool from event to event until every master has restarted and is UP.
func (p *simulated) run() error {
	for end := p.now.Add(2 * time.Hour); p.now.Before(end); {
		m := slices.MinFunc(p.masters, func(a, b *simulatedMaster) int { return next(a).Compare(next(b)) })
		p.now = next(m)
		if m.check.After(p.now) {
			m.phase(m)
		} else {
			p.ask(m)
			if m.phase != nil && !m.down && !p.now.Before(m.told) {
				m.phase(m) // there is news
			}
		}
		p.observe()
		if !slices.ContainsFunc(p.masters, func(m *simulatedMaster) bool { return m.phase != nil || m.state != "UP" }) {
			return nil
		}
	}
	return fmt.Errorf("after %v masters still wait", p.now.Sub(now()))
}

func next(m *simulatedMaster) time.Time {
	if m.phase != nil && m.at.Before(m.check) {
		return m.at
	}
	return m.check
}

// status is what the daemon of a master says.
func (p *simulated) status(m *simulatedMaster) api.Status {
	at := p.now.Add(m.skew)
	s := api.Status{Time: at, Started: at.Add(-time.Hour), Certname: m.name, Balancers: m.tracker.Current(at)}
	healthy := check.Verdict{Health: check.Healthy}
	s.Services = []api.ServiceStatus{{Name: monitor.Server, Mode: drain.Ready, Verdict: healthy}}
	if m.held {
		s.Services[0].Mode = drain.Drain
	}
	if p.form.fleet {
		for _, other := range p.masters {
			s.Fleet = append(s.Fleet, other.name)
		}
	}
	return s
}

// waits is a guard before its hold.
func (p *simulated) waits(m *simulatedMaster) {
	obstacles, again := m.depart.Waits(p.status(m))
	switch {
	case len(obstacles) == 0 && !m.depart.Replaced():
		m.down = true // it serves until it stops
		m.phase, m.at = p.starts, p.now.Add(40*time.Second)
	case len(obstacles) == 0:
		m.phase, m.at = p.leaves, p.now.Add(time.Millisecond+p.upTo(20*time.Millisecond))
	case again.IsZero():
		m.at = p.now.Add(time.Second)
	default:
		m.at = again.Add(-m.skew).Add(p.upTo(50 * time.Millisecond))
	}
}

func (p *simulated) leaves(m *simulatedMaster) {
	if p.now.Before(m.at) {
		return
	}
	m.held = true
	m.depart.Left(p.now.Add(m.skew))
	m.drained = p.now.Add(p.upTo(20 * time.Second))
	m.phase, m.at = p.drains, m.drained
}

func (p *simulated) drains(m *simulatedMaster) {
	s := p.status(m)
	switch {
	case len(m.depart.Collision(s)) > 0:
		m.held = false
		m.depart.Returned()
		m.phase, m.at = p.waits, p.now.Add(time.Millisecond)
	case !p.now.Before(m.drained) && m.state != "UP" && len(m.depart.Unsettled(s)) == 0:
		m.down = true
		m.phase, m.at = p.starts, p.now.Add(20*time.Second+p.upTo(40*time.Second))
	default:
		m.at = p.now.Add(time.Second)
	}
}

func (p *simulated) starts(m *simulatedMaster) { m.down, m.held, m.phase = false, false, nil }

// ask is a check: HAProxy says how it has the master, and then acts on the answer.
func (p *simulated) ask(m *simulatedMaster) {
	m.check = p.now.Add(p.form.interval + p.upTo(2*p.jitter) - p.jitter)
	total := 0
	for _, other := range p.masters {
		if other.state == "UP" {
			total += other.weight
		}
	}
	view := fmt.Sprintf("%s; name=puppet/%s; node=lb1; weight=%d/%d; scur=0/0; qcur=0",
		m.state, m.name, m.weight, total)
	code := 200
	switch {
	case m.held && p.form.graceful:
		code = 404
	case m.held || m.down:
		code = 503
	}
	q := balancer.Question{Service: monitor.Server, DrainCode: 503, MaintCode: 503, View: view}
	if p.form.graceful {
		q.DrainCode = 404
	}
	lb := netip.MustParseAddr("198.51.100.1")
	m.tracker.Record(lb, q, balancer.Told{Code: code}, p.now.Add(m.skew))
	switch {
	case code == 404 && m.state != "DOWN":
		m.state, m.health = "NOLB", 0
	case code == 200 && m.state == "NOLB":
		m.state = "UP"
	case (code == 200) == (m.state == "UP"):
		m.health = 0
	default:
		m.health++
		switch {
		case code == 200 && m.health == simulatedRise:
			m.state, m.health = "UP", 0
		case code != 200 && m.health == simulatedFall:
			m.state, m.health = "DOWN", 0
		}
	}
}

// observe notes how few servers there are.
func (p *simulated) observe() {
	up, out := 0, 0
	for _, m := range p.masters {
		if m.state == "UP" {
			up++
		}
		if m.held || m.down {
			out++
		}
	}
	p.out = max(p.out, out)
	switch {
	case up > 0:
		p.emptySince = time.Time{}
	case p.emptySince.IsZero():
		p.emptySince = p.now
	default:
		p.empty = max(p.empty, p.now.Sub(p.emptySince))
	}
}

// TestPoolsSurviveRestartsAtTheSameTime restarts every master of a pool within a
// second, or within ten, with thousands of seeds.
func TestPoolsSurviveRestartsAtTheSameTime(t *testing.T) {
	t.Parallel()
	for masters, seeds := range map[int]uint64{2: 200, 3: 200, 10: 20} {
		if testing.Short() {
			seeds = max(seeds/40, 1)
		}
		for _, form := range forms(masters) {
			t.Run(fmt.Sprintf("%+v", form), func(t *testing.T) {
				t.Parallel()
				var empty []time.Duration
				var longest time.Duration
				collisions := 0
				for seed := range seeds {
					p := newSimulated(form, seed)
					if err := p.run(); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					empty = append(empty, p.empty)
					longest = max(longest, p.now.Sub(now()))
					if p.out > 1 {
						collisions++
					}
					if form.fleet && p.out > 1 {
						t.Fatalf("seed %d: %d masters were out at once", seed, p.out)
					}
				}
				slices.Sort(empty)
				worst, median := empty[len(empty)-1], empty[len(empty)/2]
				t.Logf("worst %v, median %v without a server; two out at once in %d of %d; all have restarted after %v at most",
					worst, median, collisions, seeds, longest)
				if worst > 3*form.interval || median > 0 {
					t.Errorf("without a server for %v at worst, %v in the median; want %v and 0", worst, median, 3*form.interval)
				}
			})
		}
	}
}

func forms(masters int) (list []simulation) {
	for _, interval := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second} {
		for _, graceful := range []bool{true, false} {
			for _, fleet := range []bool{true, false} {
				for _, within := range []time.Duration{time.Second, 10 * time.Second} {
					list = append(list, simulation{masters, fleet, graceful, interval, within, 1})
				}
			}
		}
	}
	for _, fleet := range []bool{true, false} {
		list = append(list, simulation{masters, fleet, true, 2 * time.Second, time.Second, 2})
	}
	if masters == 2 {
		list = append(list, simulation{masters, true, false, 2 * time.Second, time.Second, 5})
	}
	return list
}

// Each master measures another average of checks that are a few milliseconds early or late,
// and all of them must still agree on the windows.
func TestAFleetTakesTurnsAtEveryUsualInterval(t *testing.T) {
	t.Parallel()
	for _, interval := range rotation.UsualIntervals() {
		for _, graceful := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, graceful %v", interval, graceful), func(t *testing.T) {
				t.Parallel()
				for seed := range uint64(20) {
					p := newSimulated(simulation{2, true, graceful, interval, time.Second, 1}, seed)
					p.jitter = 4 * time.Millisecond
					for _, m := range p.masters { // at another place in their windows, with enough checks for an average
						m.told = m.told.Add(20*interval + time.Duration(seed)*7*time.Second)
						m.at = m.told
					}
					if err := p.run(); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if p.out > 1 {
						t.Errorf("seed %d: both were out at once, and no server was left for %v", seed, p.empty)
					}
				}
			})
		}
	}
}
