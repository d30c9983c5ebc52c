package balancer_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
	"github.com/pmcheck/pmcheck/drain"
)

// The explorer has three files: this model of a pool, the spaces of schedules in explore_space_test.go, and what must
// be true of each schedule in explore_test.go.

const (
	service = "server"
	pool    = "puppet"
	turn    = balancer.TurnBackend
	maxOut  = 1
)

// A schedule is one course of events in a pool: HAProxy processes that check the daemons of masters that leave. It
// has a clock of its own and no goroutine. The tracker, the rule and the answer are those of the daemon.
type schedule struct {
	*space
	*choices
	watch

	now   time.Duration // since the start
	step  int           // how many events there have been
	queue []event

	balancers []*process
	masters   []*master

	hold      time.Duration // when the first hold is set
	checks    int           // since then
	slowCheck int           // which of them is late; 0: none
	slowBy    time.Duration
	slowBack  bool // the answer is late, rather than the request

	story *strings.Builder // the time line; nil: it is not written
}

// An event happens in one place: a process or a master. Events at the same moment in different places share nothing,
// so their order does not matter.
type event struct {
	at    time.Duration
	place any
	kind  eventKind
	do    func()
}

type eventKind int

const (
	change   eventKind = iota // of a hold, a daemon or a process
	sent                      // a process sends a check
	arrived                   // a daemon gets it
	answered                  // the process gets the answer
)

// commutes reports whether the order of two events of the same moment does not matter.
func (e event) commutes(o event) bool {
	return e.place != o.place || e.kind == o.kind && (e.kind == sent || e.kind == answered)
}

// clock returns the time that the daemons see.
func (s *schedule) clock() time.Time { return time.Unix(1_800_000_000, 0).Add(s.now) }

func (s *schedule) at(at time.Duration, place any, kind eventKind, do func()) {
	s.queue = append(s.queue, event{
		at:    at,
		place: place,
		kind:  kind,
		do:    do,
	})
}

// next lets the next event happen. Where the order of those of the same moment matters, it is a choice.
func (s *schedule) next() {
	first := 0
	for i, e := range s.queue {
		if e.at < s.queue[first].at {
			first = i
		}
	}
	rivals := []int{first}
	for i, e := range s.queue {
		if i != first && e.at == s.queue[first].at && !e.commutes(s.queue[first]) {
			rivals = append(rivals, i)
		}
	}
	if s.now >= s.hold { // nobody leaves before
		first = rivals[s.pick(order, len(rivals))]
	}

	e := s.queue[first]
	s.queue = append(s.queue[:first], s.queue[first+1:]...)
	s.now = e.at
	s.step++
	e.do()
}

// tell adds a line to the time line.
func (s *schedule) tell(format string, args ...any) {
	if s.story != nil {
		fmt.Fprintf(s.story, "%8.3f s  %s\n", (s.now - s.hold).Seconds(), fmt.Sprintf(format, args...))
	}
}

// A process is one HAProxy. A reload replaces it.
type process struct {
	node     string
	address  netip.Addr
	backends []*backend // in the order of their names
	ended    bool
}

func (p *process) pool() *backend { return p.backends[len(p.backends)-1] }

// A backend is one of a process.
type backend struct {
	haproxy.Backend
	exits   []exchange // of each master that is out: the check that took it out
	crossed bool       // two of these checks were under way together
}

// An exchange is a check and its answer, by the steps at which the process sent the one and got the other.
type exchange struct {
	sent, got int
	code      int
}

// start starts a process, the first or the next after a reload.
func (s *schedule) start(i int) *process {
	p := &process{
		node:    fmt.Sprintf("lb%d", i),
		address: netip.AddrFrom4([4]byte{198, 51, 100, byte(i + 1)}),
	}
	if s.turn != nil {
		p.backends = append(p.backends, s.backend(p, turn, *s.turn))
	}
	p.backends = append(p.backends, s.backend(p, pool, s.Settings))
	for _, b := range p.backends {
		phase := time.Duration(0)
		for n := range s.masters {
			reference := s.now == 0 && i == 0 && b == p.backends[0] && n == 0
			if !reference && !(s.locked && n > 0) {
				phase = s.moment(b.Inter+b.RoundTrip, s.phases)
			}
			s.at(s.now+phase, p, sent, func() { s.send(p, b, n) })
		}
	}
	return p
}

func (s *schedule) backend(p *process, name string, settings haproxy.Settings) *backend {
	b := &backend{
		Backend: haproxy.Backend{
			Settings: settings,
			Node:     p.node,
			Name:     name,
		},
		exits: make([]exchange, len(s.masters)),
	}
	for _, m := range s.masters {
		b.Servers = append(b.Servers, &haproxy.Server{Name: m.name, Weight: 100})
	}
	if name == turn && s.third != nil {
		b.Servers = append(b.Servers, s.third()) // it has no check
	}
	b.Start(s.clock())
	return b
}

func (s *schedule) send(p *process, b *backend, n int) {
	if p.ended {
		return
	}
	m, server := s.masters[n], b.Servers[n]
	header := b.Header(server, s.clock())
	x := exchange{sent: s.step}
	there, back := s.latency(b)
	deadline := s.now + cmp.Or(b.Timeout, b.Inter)
	if m.leaves() {
		s.tell("%s asks %s: %s", p.node, m.name, view(header))
	}

	end := func(at time.Duration, code int) {
		if at > deadline {
			at, code = deadline, 0
		}
		s.at(at, p, answered, func() { s.got(p, b, n, x, code) })
	}
	arrives := s.now + there
	if arrives > deadline {
		end(arrives, 0)
	}
	s.at(arrives, m, arrived, func() {
		code, shift := m.answer(s, p, b, header)
		if arrives <= deadline {
			end(s.now+shift+back, code)
		}
	})
}

func (s *schedule) got(p *process, b *backend, n int, x exchange, code int) {
	if p.ended {
		return
	}
	server := b.Servers[n]
	before := server.State()
	b.Answered(server, code, s.clock())
	if now := server.State(); now != before {
		s.tell("%s has %s/%s %s", p.node, b.Name, server.Name, now)
	}
	x.got, x.code = s.step, code
	s.changed(s, p, b, n, before, x)
	s.at(s.now+b.Pause(server), p, sent, func() { s.send(p, b, n) })
}

// A view prints what matters of a header.
type view string

// String implements fmt.Stringer, so that only a line which is written costs something.
func (v view) String() string {
	header := string(v)
	state, rest, _ := strings.Cut(header, ";")
	name := between(rest, "name=", "/")
	return fmt.Sprintf("%s: %s, %s", name, state, between(rest, "weight=", ";"))
}

func between(text, begin, end string) string {
	_, text, _ = strings.Cut(text, begin)
	text, _, _ = strings.Cut(text, end)
	return text
}

// A master has a daemon, and a party that leaves, as package leave: its hold is leaving until every balancer has it
// out, then firm for as long as the work takes, and is then lifted.
type master struct {
	name    string
	tracker *balancer.Tracker
	saved   []byte // what a daemon saves of the balancers
	dead    bool   // the host does not answer

	mode    drain.Mode
	leaving drain.Leaving
	since   time.Time     // of the mode
	held    time.Duration // when the hold was first set
	done    bool          // it has been firm
	again   int           // how often it has left once more
}

// moment returns the only service of the master, which is healthy.
func (m *master) moment(now time.Time) answer.Moment {
	return answer.Moment{
		Service: service,
		Time:    now,
		Mode:    m.mode,
		Leaving: m.leaving,
		Verdict: check.Verdict{Health: check.Healthy},
	}
}

// answer is the daemon's answer to a check, and how much later it sends it.
func (m *master) answer(s *schedule, p *process, b *backend, header string) (code int, shift time.Duration) {
	if m.dead {
		return 0, 0
	}
	codes := answer.Codes{Drain: http.StatusServiceUnavailable}
	if s.DisableOn404 {
		codes.Drain = http.StatusNotFound
	}
	moment := m.moment(s.clock())
	leaves := func(drain.Service) bool { return m.leaving != drain.Firm }
	rule := balancer.NewRule(moment, leaves, answer.MaxOut{Number: maxOut})
	a, most := m.tracker.Answer(balancer.Check{
		Source:  p.address,
		Service: service,
		Codes:   codes.Filled(),
		Header:  header,
	}, rule, func(spare bool) answer.Answer { return answer.Decide(moment, codes, spare) })
	if most > 0 {
		shift = time.Duration(s.pick(delay, int(most/s.grid())+1)) * s.grid()
	}
	if m.leaves() {
		s.tell("    %s answers %s/%s: %d after %s", m.name, p.node, b.Name, a.Code, shift)
	}

	refused := a.Code >= http.StatusBadRequest
	if refused && m.leaves() && m.told(s.clock()) {
		s.begin(m)
	}
	return a.Code, shift
}

// leaves reports whether the master is held, and its work has not begun.
func (m *master) leaves() bool { return m.mode != drain.Ready && m.leaving != drain.Firm }

// told reports whether every balancer has the master out, by its own view and by the last answer to it.
func (m *master) told(now time.Time) bool {
	for _, b := range m.tracker.All().Current(now) {
		if b.View == nil || b.Sends(now) || !b.Refused() || !b.Seen.After(m.since) {
			return false
		}
	}
	return true
}

// drain sets the hold of a master.
func (s *schedule) drain(m *master) {
	if m.done {
		return
	}
	m.mode, m.leaving, m.since = drain.Drain, drain.LeavingInTurn, s.clock()
	s.tell("%s is drained", m.name)
}

func (s *schedule) lift(m *master) {
	m.mode, m.leaving, m.since = drain.Ready, drain.Firm, s.clock()
	m.dead = m.dead && !s.reboots
	s.tell("%s is ready", m.name)
}

// die lets the host of a master die, or start again.
func (s *schedule) die(m *master, dead bool) {
	m.dead = dead
	s.tell("the host of %s is dead: %t", m.name, dead)
}

// begin makes the hold firm, and begins the work.
func (s *schedule) begin(m *master) {
	m.leaving, m.done = drain.Firm, true
	m.dead = m.dead || s.reboots
	s.tell("%s is firm", m.name)
	s.firm(s, m)
	s.at(s.now+s.work, m, change, func() {
		s.lift(m)
		if m.again < s.again {
			m.again++
			m.done = false
			s.at(s.now+s.grid()+s.moment(s.period(), s.coarse), m, change, func() { s.drain(m) })
		}
	})
}

// save writes what the next daemon will know, as JSON, and restart starts the next daemon with that.
func (s *schedule) save(m *master) {
	data, err := json.Marshal(m.tracker.All().Save())
	if err != nil {
		panic(err)
	}
	m.saved = data
}

func (s *schedule) restart(m *master) {
	var left balancer.Saved
	if err := json.Unmarshal(m.saved, &left); err != nil {
		panic(err)
	}
	m.tracker = new(balancer.Tracker)
	m.tracker.Restore(left.List(), s.clock())
	s.tell("the daemon of %s starts", m.name)
}

// reload replaces a process: the new one knows nothing.
func (s *schedule) reload(i int) {
	s.ends(s.balancers[i])
	s.tell("%s reloads", s.balancers[i].node)
	s.balancers[i] = s.start(i)
}
