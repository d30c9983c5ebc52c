// Package monitor watches the master and publishes what it knows as one immutable
// State.
//
// One goroutine receives all facts: results of probes, findings of the other checks,
// the state of the unit, changes of the holds, a new configuration. After each of
// them the monitor publishes a new State. Readers only use the current State, so no
// request can cause a probe or wait for one. The package knows nothing about HTTP and
// balancers; of a State it makes the Moment by which package answer decides.
package monitor

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/drain"
)

// Hooks are called by the monitor's loop, and must not be nil. They must return
// soon, since the loop waits for them.
type Hooks struct {
	Published func(*State)
	Probed    func(service drain.Service, took time.Duration)
}

// Monitor keeps the facts about one master. Its exported methods are safe for
// concurrent use.
type Monitor struct {
	holds   *drain.Watcher
	hooks   Hooks
	audit   audit
	state   atomic.Pointer[State]
	judged  chan struct{} // closed with the first verdict
	reloads chan config.Config

	results chan outcome       // of probes
	lost    chan *subject      // the master ended a kept connection
	found   chan check.Finding // by the scheduled checks
	sights  chan sight
	trials  chan trial
	work    sync.WaitGroup // the goroutines that send on these
	stop    func()         // ends the scheduled checks of the configuration in use

	// Only the loop uses the fields below.
	config      config.Config
	credentials *puppetclient.Credentials // shared by all clients
	services    []*subject
	findings    findings
	began       time.Time // the last probes that were due

	// Where the master is, while its address is assumed: see place.go.
	assumed   string          // the address of the configuration
	sight     sight           // the last one
	ran       map[string]bool // the units that have been seen to run
	searching bool            // a trial is under way
	rejected  []candidate     // where the master is not
	doubted   bool            // see place
}

// New returns a monitor that has not probed yet. Run starts it.
func New(c config.Config, holds *drain.Store, log *slog.Logger, hooks Hooks) *Monitor {
	m := &Monitor{
		holds:    holds.Watch(),
		hooks:    hooks,
		audit:    audit{log: log},
		judged:   make(chan struct{}),
		reloads:  make(chan config.Config, 1),
		results:  make(chan outcome),
		lost:     make(chan *subject, 1),
		found:    make(chan check.Finding),
		sights:   make(chan sight),
		trials:   make(chan trial),
		stop:     func() {},
		findings: findings{latest: map[string]check.Finding{}},
		ran:      map[string]bool{},
	}

	// There is a State from the start: readers need not wait for the first.
	m.state.Store(&State{})
	m.adopt(c)
	m.publish()
	return m
}

// State returns what is known now; never nil.
func (m *Monitor) State() *State { return m.state.Load() }

// Judged returns a channel that is closed when there is a first verdict on the master.
func (m *Monitor) Judged() <-chan struct{} { return m.judged }

// Reload applies a new configuration. It must not be called after Run has returned.
func (m *Monitor) Reload(c config.Config) { m.reloads <- c }

// AcceptHolds accepts directories of holds that were replaced, as they are.
func (m *Monitor) AcceptHolds() { m.holds.Accept() }

// Memory is what a daemon leaves to the next of its master.
type Memory struct {
	// Good has the last good answer of each service. The judge of a service decides what it is worth.
	Good map[drain.Service]check.Memory
	// Pool is the master's. JRubies that are stuck stay so for the next daemon, until one comes back. One that is missing
	// in a pool that was complete is being replaced, not started.
	Pool check.PoolMemory
	// Address is where the master was found; empty if the configuration says where it is.
	Address string
}

// Recall makes the monitor go on from the memory that another daemon has left. It must be called before Run.
func (m *Monitor) Recall(left Memory) {
	if m.config.Probe.Assumed && sockets.IsLocal(left.Address) {
		c := m.config
		c.Probe.Address = left.Address
		m.configure(c)
	}
	for _, s := range m.services {
		s.judge.Recall(left.Good[s.name])
	}
	m.findings.seen.Recall(left.Pool)
	m.publish()
}

// Run watches the master until ctx ends, and returns when everything it started has ended.
func (m *Monitor) Run(ctx context.Context) {
	var watch sync.WaitGroup
	watch.Go(func() { m.holds.Run(ctx) })
	m.loop(ctx)
	watch.Wait()
}
