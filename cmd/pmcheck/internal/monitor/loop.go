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

// hurried is the interval of the probes while the master is not healthy, or is held.
const hurried = time.Second

// configure prepares the services and checks of a configuration; start starts them.
func (m *Monitor) configure(c config.Config) {
	m.stop()
	m.config = c
	if next := c.Probe.Credentials(); m.credentials == nil || m.credentials.Files != next.Files {
		m.credentials = next
	}
	old, host := m.services, newHost(c.Probe, m.credentials)
	m.services = subjects(c, host, m.lost, old)
	for _, s := range old {
		s.close()
	}
	m.runners = newRunners(c, host)
	maxAge := map[string]time.Duration{}
	for _, r := range m.runners {
		maxAge[r.name] = r.maxAge()
	}
	m.findings.configure(c.Checks, maxAge)
}

// start probes all services and starts the checks other than the probe.
func (m *Monitor) start(ctx context.Context) {
	m.probeAll(ctx)
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
	m.start(ctx)
	due, again := time.NewTimer(m.pause()), time.NewTimer(holdsMaxAge/3)
	defer due.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			for _, s := range m.services {
				s.close()
			}
			return
		case <-due.C:
			m.probeAll(ctx)
		case s := <-m.wanted:
			m.probeIf(ctx, s, m.serves(s))
		case s := <-m.lost:
			s.lost = time.Now() // whichever it is: the master's may not have been sent
			m.probeIf(ctx, s, m.serves(s) && s.credit)
			s.credit = false
		case o := <-m.results:
			if m.serves(o.subject) {
				m.observe(ctx, o.subject, o.result)
			}
		case f := <-m.found:
			m.findings.take(f, time.Now())
		case u := <-m.units:
			m.findings.unit(u, time.Now())
			m.probeIf(ctx, m.services[0], u.Unit != "") // the master may have started or stopped
		case <-m.holds.Changes():
		case <-again.C: // the state has the time of the last reading of the holds, too
		case c := <-m.reloads:
			m.configure(c)
			m.start(ctx)
		}
		m.publish()
		due.Reset(time.Until(m.began.Add(m.pause())))
		again.Reset(holdsMaxAge / 3)
	}
}

// pause returns the time from the beginning of the last probes to that of the next.
func (m *Monitor) pause() time.Duration {
	s := m.State()
	mode, _ := s.Mode(Server, s.Published)
	if s.Services[0].Verdict.Health == check.Healthy && mode == drain.Ready {
		return m.config.Probe.Interval
	}
	return min(m.config.Probe.Interval, hurried)
}

// serves reports whether a subject belongs to the configuration in use.
func (m *Monitor) serves(s *subject) bool { return slices.Contains(m.services, s) }

func (m *Monitor) probeAll(ctx context.Context) {
	m.began = time.Now()
	for _, s := range m.services {
		s.credit = true
		m.probe(ctx, s)
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
	_, confirm := s.judge.Observe(r)
	if s.name == Server {
		m.findings.observe(r, time.Now())
	}
	m.log.Debug("probe", "service", s.name, "took", r.Took, "handshake", r.Handshake, "url", r.URL, "fault", faultText(r))
	switch {
	case s.again, confirm && s.gone(r, time.Now()):
		m.probe(ctx, s)
	case confirm:
		time.AfterFunc(confirmAfter, func() { send(ctx, m.wanted, s) })
	}
}

// publish stores what is known now and logs what has changed.
func (m *Monitor) publish() {
	before, next := m.State(), m.known(time.Now())
	next.conclude(before)
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
