package agent

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// loop owns the facts. Everything that happens reaches its one goroutine over
// a channel, and after each event it publishes what is known.
type loop struct {
	log     *slog.Logger
	holds   *drain.Watcher
	publish func(*state)
	measure func(service string, took time.Duration)

	results chan outcome       // of probes
	wanted  chan *subject      // a fault is to be confirmed
	lost    chan *subject      // a kept connection was ended by the master
	found   chan check.Finding // by the checks beside the probe
	units   chan systemd.UnitState
	reloads chan config.Config

	work      sync.WaitGroup // the goroutines that send on these
	stop      func()         // ends the runners of the configuration in use
	restarted atomic.Bool    // tells the check of the pool to start over
	held      atomic.Bool    // the master is held, so somebody may wait for its end
	fell      bool           // since it served, the master was more than silent: it may have been started anew

	config      config.Config
	credentials *puppetclient.Credentials // one reading of the files, and one last good set, for all clients
	services    []*subject
	checks      []*runner
	findings    findings
	weigher     weigher
	current     *state
	said        map[string]check.Verdict // by the log, of each service
}

func newLoop(c config.Config, a *Agent) *loop {
	l := &loop{
		log: a.Log, holds: a.holds, publish: a.publish, measure: a.measure,
		results:  make(chan outcome),
		wanted:   make(chan *subject),
		lost:     make(chan *subject, 1),
		found:    make(chan check.Finding),
		units:    make(chan systemd.UnitState),
		reloads:  make(chan config.Config, 1),
		findings: newFindings(),
		stop:     func() {},
		current:  &state{},
		said:     map[string]check.Verdict{},
	}
	l.configure(c)
	l.findings.forgetPool(time.Now())
	l.turn()
	return l
}

// configure prepares for a configuration; start sets it going.
func (l *loop) configure(c config.Config) {
	old := l.services
	l.config = c
	if next := newCredentials(c.Probe); l.credentials == nil || l.credentials.Files != next.Files {
		l.credentials = next
	}
	l.services = l.subjects(c)
	for _, s := range l.services {
		s.keep(old)
	}
	for _, s := range old {
		s.close()
	}
	l.findings.configure(c.Checks)
	l.checks = l.runners(c)
	maxAge := map[string]time.Duration{}
	for _, r := range l.checks {
		maxAge[r.name] = r.maxAge()
	}
	l.findings.expect(maxAge)
}

// start starts the checks beside the probe, after ending those of the
// configuration before.
func (l *loop) start(ctx context.Context) {
	l.stop()
	ctx, l.stop = context.WithCancel(ctx)
	for _, r := range l.checks {
		l.work.Go(func() { r.run(ctx, l.found) })
	}
	if l.config.Checks.Severity(check.CheckUnit) != check.Off {
		names := check.Settings[check.UnitSettings](l.config.Checks).Names
		l.work.Go(func() { watchUnit(ctx, names, l.units) })
	}
}

// run turns until ctx ends, and returns when everything it started has ended.
func (l *loop) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer l.work.Wait()
	defer cancel()
	tick := time.NewTicker(l.config.Probe.Interval)
	defer tick.Stop()
	l.start(ctx)
	l.askAll(ctx)
	for {
		select {
		case <-ctx.Done():
			for _, s := range l.services {
				s.close()
			}
			return nil
		case <-tick.C:
			l.holds.Rescan()
			l.askAll(ctx)
		case s := <-l.wanted:
			l.askIf(ctx, s, l.serves(s))
		case s := <-l.lost:
			l.askIf(ctx, s, l.serves(s) && s.credit)
			s.credit = false
		case o := <-l.results:
			if l.serves(o.subject) {
				l.observe(ctx, o.subject, o.result)
			}
		case f := <-l.found:
			l.findings.take(f, time.Now())
		case u := <-l.units:
			l.findings.unit(u, time.Now())
			l.askIf(ctx, l.services[0], u.Unit != "") // it may be back, or gone
		case <-l.holds.Changes():
		case c := <-l.reloads:
			l.configure(c)
			tick.Reset(c.Probe.Interval)
			l.start(ctx)
			l.askAll(ctx)
		}
		l.turn()
	}
}

// serves reports whether a subject belongs to the configuration in use.
func (l *loop) serves(s *subject) bool { return slices.Contains(l.services, s) }

func (l *loop) askAll(ctx context.Context) {
	for _, s := range l.services {
		s.credit = true
		l.ask(ctx, s)
	}
}

// patience is how many probes in a row a service may leave unanswered because
// the master has too much to do; 0 if that is not known.
func (l *loop) patience(s *subject) int {
	if s.name == Server && l.findings.saturated(time.Now()) {
		return check.Settings[check.JRubySettings](l.config.Checks).BusyFall
	}
	return 0
}

// concluded looks at a probe of the master for the checks that depend on it.
func (l *loop) concluded(served, serves bool, r check.Result) {
	now := time.Now()
	l.findings.observe(l.config.Checks, r, now)
	switch {
	case r.Fault != nil:
		l.fell = l.fell || r.Fault.Definite()
	case serves:
		if !served && l.fell {
			l.findings.forgetPool(now)
			l.restarted.Store(true)
			l.kick(check.CheckJRuby)
		}
		l.fell = false
	}
}

// kick has a check made now.
func (l *loop) kick(name string) {
	for _, r := range l.checks {
		if r.name == name {
			select {
			case r.kick <- struct{}{}:
			default:
			}
		}
	}
}

// turn publishes what is known now and logs what has changed.
func (l *loop) turn() {
	now := time.Now()
	next := &state{
		turned:   now,
		maxAge:   l.config.Probe.MaxAge + l.config.Probe.Interval,
		holds:    l.holds.Current(),
		degraded: l.holds.Degraded(),
		findings: l.findings.list(now),
		result:   l.services[0].last,
		probes:   l.services[0].count,
	}
	for _, s := range l.services {
		next.services = append(next.services, service{name: s.name, verdict: s.judge.Verdict().At(now), probes: s.count})
		next.own = append(next.own, s.local()...)
	}
	for _, r := range l.checks {
		if r.Client != nil {
			next.own = append(next.own, r.Client.Local()...)
		}
	}
	if db, asked := l.findings.puppetdb(now); asked {
		next.services = append(next.services, db)
	}
	next.conclude(l.current)
	next.weight = l.weigh(next, now)
	if mode, _ := next.mode(Server, now); l.held.Swap(mode != drain.Ready) != (mode != drain.Ready) {
		l.kick(check.CheckJRuby)
	}
	l.audit(l.current, next)
	l.current = next
	l.publish(next)
}
