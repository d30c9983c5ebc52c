package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// configure prepares the services and checks of a configuration; start starts them.
func (m *Monitor) configure(c config.Config) {
	m.stop()
	m.config = c
	if next := c.Probe.Credentials(); m.credentials == nil || m.credentials.Files != next.Files {
		m.credentials = next
	}
	old, host := m.services, newHost(c.Probe, m.credentials)
	m.services = subjects(c, &host, m.lost, old)
	for _, s := range old {
		s.close()
	}
	m.calm = newCalm(c, m.calm.expiry, time.Now())
	m.signals.calm.Store(false)
	m.runners = newRunners(c, host, &m.signals)
	maxAge := map[string]time.Duration{}
	for _, r := range m.runners {
		maxAge[r.name] = r.maxAge()
		r.idle = func(since check.Finding) bool { return m.idle(c.Probe.Address, since) }
	}
	m.findings.configure(c.Checks, maxAge)
}

// start starts the checks other than the probe.
func (m *Monitor) start(ctx context.Context) {
	ctx, m.stop = context.WithCancel(ctx)
	for _, r := range m.runners {
		m.work.Go(func() { r.run(ctx, m.found) })
	}
	if m.config.Checks.Severity(check.CheckUnit) != check.Off {
		names := check.Settings[check.UnitSettings](m.config.Checks).Units()
		m.work.Go(func() {
			systemd.WatchUnit(ctx, names, func(u systemd.UnitState) { send(ctx, m.units, u) })
		})
	}
}

// loop runs until ctx ends, and returns when everything it started has ended.
func (m *Monitor) loop(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer m.work.Wait()
	defer cancel()
	tick := time.NewTicker(m.config.Probe.Interval)
	defer tick.Stop()
	again := time.NewTimer(holdsMaxAge / 3)
	defer again.Stop()
	m.start(ctx)
	m.probeAll(ctx)
	for {
		select {
		case <-ctx.Done():
			for _, s := range m.services {
				s.close()
			}
			return
		case <-tick.C:
			m.lookAround(ctx, time.Now())
			m.probeDue(ctx)
		case s := <-m.wanted:
			m.probeIf(ctx, s, m.serves(s))
		case s := <-m.lost:
			s.lost, m.calm.stirred = time.Now(), time.Now() // whichever it is: the master's may not have been sent
			m.probeIf(ctx, s, m.serves(s) && s.credit)
			s.credit = false
		case o := <-m.results:
			if m.serves(o.subject) {
				m.observe(ctx, o.subject, o.result)
			}
		case f := <-m.found:
			m.take(ctx, f, time.Now())
		case l := <-m.looks:
			m.looked(ctx, l, time.Now())
			continue // it is not published
		case u := <-m.units:
			m.calm.stirred = time.Now()
			m.findings.unit(u, time.Now())
			m.probeIf(ctx, m.services[0], u.Unit != "") // the master may have started or stopped
		case <-m.holds.Changes():
		case <-again.C: // the state has the time of the last reading of the holds, too
		case c := <-m.reloads:
			m.configure(c)
			tick.Reset(c.Probe.Interval)
			m.start(ctx)
			m.probeAll(ctx)
		}
		m.publish()
		again.Reset(holdsMaxAge / 3)
	}
}

// serves reports whether a subject belongs to the configuration in use.
func (m *Monitor) serves(s *subject) bool { return slices.Contains(m.services, s) }

func (m *Monitor) probeAll(ctx context.Context) {
	for _, s := range m.services {
		s.credit = true
		m.probe(ctx, s)
	}
}

// probeDue is probeAll, but leaves out the master while all is calm.
func (m *Monitor) probeDue(ctx context.Context) {
	for _, s := range m.services {
		s.credit = true
		now := time.Now()
		calm := s.name == Server && m.calmly(now)
		if s.name == Server {
			m.signals.calm.Store(calm)
			if m.calm.unproved(now) {
				s.close() // its kept connection, so that the probe makes a new one
			}
		}
		m.probeIf(ctx, s, !calm)
	}
}

func (m *Monitor) probeIf(ctx context.Context, s *subject, wanted bool) {
	if wanted {
		m.probe(ctx, s)
	}
}

// probe starts a probe, or requests another one if a probe is in progress.
func (m *Monitor) probe(ctx context.Context, s *subject) {
	if s.asking {
		s.again = true
		return
	}
	s.asking, s.again = true, false
	m.work.Go(func() { send(ctx, m.results, outcome{s, s.probe(ctx)}) })
}

// send reports whether v was received before ctx ended.
func send[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

func (m *Monitor) observe(ctx context.Context, s *subject, r check.Result) {
	s.asking = false
	s.count++
	s.last = r
	m.hooks.Probed(s.name, r.Took)
	served := s.judge.Verdict().Health.Serves()
	s.judge.Patience = m.patience(s)
	verdict, confirm := s.judge.Observe(r)
	if s.name == Server {
		m.calm.heard(r, time.Now())
		m.concluded(served, verdict.Health.Serves(), r)
	}
	m.log.Debug("probe", "service", s.name, "took", r.Took, "handshake", r.Handshake, "url", r.URL, "fault", faultText(r))
	switch {
	case s.again:
		m.probe(ctx, s)
	case confirm && s.gone(r, time.Now()):
		m.probe(ctx, s)
	case confirm:
		time.AfterFunc(confirmAfter, func() { send(ctx, m.wanted, s) })
	}
}

// patience returns how many probes in a row a service may leave unanswered while the master
// is known to be saturated; 0 if it is not.
func (m *Monitor) patience(s *subject) int {
	if s.name == Server && m.findings.saturated(time.Now()) {
		return check.Settings[check.JRubySettings](m.config.Checks).BusyFall
	}
	return 0
}

// concluded passes a result of the master to the checks that depend on it. served and
// serves say whether the master served before and after the result.
func (m *Monitor) concluded(served, serves bool, r check.Result) {
	now := time.Now()
	m.findings.heard(r)
	m.findings.observe(r, now)
	switch {
	case r.Fault != nil:
		m.fell = m.fell || r.Fault.Definite()
		m.closed = m.closed || r.Fault.Reason == check.Refused
	case serves:
		if !served && m.fell {
			m.findings.forgetPool(now)
			m.signals.closed.Store(m.closed)
			m.signals.restarted.Store(true)
			m.kick(check.CheckJRuby)
		}
		m.fell, m.closed = false, false
	}
}

// kick makes a check run now.
func (m *Monitor) kick(name string) {
	for _, r := range m.runners {
		if r.name == name {
			select {
			case r.kick <- struct{}{}:
			default:
			}
		}
	}
}

// publish stores what is known now and logs what has changed.
func (m *Monitor) publish() {
	before, next := m.State(), m.known(time.Now())
	next.conclude(before)
	mode, _ := next.Mode(Server, next.Published)
	if held := mode != drain.Ready; m.signals.held.Swap(held) != held {
		m.kick(check.CheckJRuby)
	}
	m.audit.note(before, next)
	m.state.Store(next)
	if next.Judged() {
		m.once.Do(func() { close(m.judged) })
	}
	m.hooks.Published(next)
}

func (m *Monitor) known(now time.Time) *State {
	s := &State{
		Published: now,
		MaxAge:    m.config.Probe.MaxAge + m.config.Probe.Interval,
		Holds:     m.holds.Current(),
		HoldsLate: m.holds.Degraded(),
		Findings:  m.findings.list(now),
		Result:    m.services[0].last,
		Probes:    m.services[0].count,
	}
	for _, v := range m.services {
		s.Services = append(s.Services, Service{Name: v.name, Verdict: v.judge.Verdict().At(now), Probes: v.count})
		s.Own = append(s.Own, v.local()...)
	}
	for _, r := range m.runners {
		if r.Client != nil {
			s.Own = append(s.Own, r.Client.Local()...)
		}
	}
	if db, asked := m.findings.puppetdb(now); asked {
		s.Services = append(s.Services, db)
	}
	return s
}
