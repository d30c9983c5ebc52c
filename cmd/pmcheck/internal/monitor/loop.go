package monitor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/systemd"
)

// hurried is the interval of the probes while the master is not healthy, is held, or leaves connections waiting to be
// accepted.
const hurried = time.Second

// longestPass is the longest time from one state to the next: the holds end, and may not be read any more.
const longestPass = 5 * time.Second

// maxPort bounds the port in puppet.conf, which may be any text.
const maxPort = 20

// subject is one service that is probed: the master itself, or a service beside it. Only
// the loop changes it.
type subject struct {
	name   drain.Service
	prober *check.Prober
	judge  check.Judge
	asking bool // a probe is under way
	again  bool // another probe must follow as soon as this one is done
	credit bool // a lost connection may still cause a probe before the next that is due
	count  int64
	last   check.Result
}

// answered reports whether the last probe has found the service healthy.
func (s *subject) answered() bool { return s.count > 0 && s.last.Fault == nil }

type outcome struct {
	subject   *subject
	result    check.Result
	listeners sockets.Listeners // at the end of a probe of the master
}

func newProber(c config.Probe, credentials *puppetclient.Credentials, service drain.Service) *check.Prober {
	p := &check.Prober{
		Client: puppetclient.Client{
			Address:     c.Address,
			ServerName:  c.Certname,
			Names:       c.Names,
			AnyName:     c.Certname == "",
			Guessed:     c.Guessed,
			Credentials: credentials,
			Timeout:     check.MaxPending,
		},
		Wait:        c.Timeout,
		Environment: c.Environment,
		Accepts:     func(ctx context.Context) (bool, error) { return sockets.Accepts(ctx, c.Address) },
		Listens: func() (check.Listening, error) {
			l, err := sockets.ListenerAt(c.Address)
			return check.Listening{ID: l.ID, Waiting: l.Waiting}, err
		},
		Elsewhere: func() string { return elsewhere(c) },
	}

	if service != drain.Master { // a prober without a service asks for the master itself
		p.Service = string(service)
	}
	return p
}

// elsewhere says where the master may listen if probe.address refuses connections.
func elsewhere(c config.Probe) string {
	_, port, err := sockets.Split(c.Address)
	if err != nil {
		return ""
	}

	if c.ServerPort != "" && c.ServerPort != strconv.Itoa(int(port)) {
		return fmt.Sprintf("puppet.conf has serverport %s: if Puppet Server listens there, set probe.address",
			text.Printable(c.ServerPort, maxPort))
	}

	open, err := sockets.Elsewhere(c.Address)
	if err != nil || len(open) == 0 {
		return ""
	}

	var list []string
	for _, a := range open {
		list = append(list, a.String())
	}
	return fmt.Sprintf("%d is open on %s only: if Puppet Server listens there, set probe.address", port,
		strings.Join(text.First(list, 5), ", "))
}

// adopt takes up a configuration from outside. Where the master was found stays known.
func (m *Monitor) adopt(c config.Config) {
	found := m.config.Probe
	m.assumed = c.Probe.Address
	if found.Assumed && c.Probe.Assumed {
		c.Probe.Address = found.Address
	}
	m.configure(c)
}

// configure prepares the services and checks of a configuration; start starts them. A service
// takes over the results of the old one with the same name, so that a reload forgets no verdict.
func (m *Monitor) configure(c config.Config) {
	m.stop()
	m.config = c
	m.searching = false
	m.rejected = nil
	if m.credentials == nil || m.credentials.Files != c.Probe.Files {
		m.credentials = &puppetclient.Credentials{Files: c.Probe.Files}
	}

	old := m.services
	m.services = []*subject{m.newSubject(drain.Master)}
	for _, name := range c.Services {
		m.services = append(m.services, m.newSubject(drain.Service(name)))
	}
	for _, o := range old {
		o.prober.Close()
		for _, s := range m.services {
			if s.name == o.name {
				s.judge = o.judge
				s.count = o.count
				s.last = o.last
			}
		}
	}

	for _, s := range m.services {
		s.judge.MaxAge = c.Probe.MaxAge
		s.judge.StuckAfter = c.Checks.JRuby().StuckAfter
	}
	m.findings.configure(c, m.credentials)
}

func watchesUnit(c config.Config) bool { return c.Checks.Severity(check.CheckUnit) != check.Off }

func (m *Monitor) newSubject(name drain.Service) *subject {
	s := &subject{name: name, prober: newProber(m.config.Probe, m.credentials, name)}
	s.prober.Lost = func() {
		select {
		case m.lost <- s:
		default: // another subject's connection was lost too, and the next probe is due soon
		}
	}
	return s
}

// start probes all services and starts the checks other than the probe.
func (m *Monitor) start(ctx context.Context) {
	m.probeAll(ctx)

	ctx, m.stop = context.WithCancel(ctx)
	for _, s := range m.findings.scheduled {
		m.work.Go(func() { m.repeat(ctx, s) })
	}

	if watchesUnit(m.config) {
		names := m.config.Checks.Unit().Names
		m.work.Go(func() {
			systemd.WatchUnit(ctx, names, func(u systemd.UnitState) {
				send(ctx, m.sights, sight{listeners: listening(), unit: u})
			})
		})
	}
}

// repeat runs a check at its interval until ctx ends. A run that was cut off has found nothing.
func (m *Monitor) repeat(ctx context.Context, s *check.Scheduled) {
	for {
		found := once(ctx, s)
		if ctx.Err() != nil || !send(ctx, m.found, found) {
			return
		}

		select {
		case <-time.After(s.Interval):
		case <-ctx.Done():
			return
		}
	}
}

// loop runs until ctx ends, and returns when everything it started has ended.
func (m *Monitor) loop(ctx context.Context) {
	defer m.work.Wait()
	m.start(ctx)

	due := time.NewTimer(0)
	defer due.Stop()
	for m.await(ctx, due.C) {
		m.publish()
		due.Reset(min(time.Until(m.began.Add(m.pause())), longestPass))
	}

	for _, s := range m.services {
		s.prober.Close()
	}
}

// await waits for one thing to happen, and takes it into account. It returns false once ctx ends.
func (m *Monitor) await(ctx context.Context, due <-chan time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-due: // the state has the time of the last reading of the holds, too
		if time.Since(m.began) >= m.pause() {
			m.probeAll(ctx)
		}
	case s := <-m.lost:
		m.probeLost(ctx, s)
	case o := <-m.results:
		if m.watches(o.subject) { // a reload may have replaced it during the probe
			m.observe(ctx, o)
		}
	case f := <-m.found:
		if m.findings.scheduled[f.Check] != nil { // a reload may have ended the check
			m.findings.take(f, time.Now())
		}
	case s := <-m.sights:
		m.see(ctx, s)
		if s.unit.Unit != "" {
			m.probe(ctx, m.master()) // it may have started or stopped
		}
	case t := <-m.trials:
		m.tried(ctx, t)
	case <-m.holds.Changes(): // the next state reads them
	case c := <-m.reloads:
		m.adopt(c)
		m.start(ctx)
	}
	return true
}

// probeLost probes a service whose kept connection has ended, once between two probes of the schedule.
func (m *Monitor) probeLost(ctx context.Context, s *subject) {
	if m.watches(s) && s.credit {
		m.probe(ctx, s)
	}
	s.credit = false
}

// pause returns the time from the beginning of the last probes to the beginning of the next.
func (m *Monitor) pause() time.Duration {
	s := m.State()
	isHealthy := s.Master().Verdict.Health == check.Healthy
	mode, _ := s.Holds.Mode(drain.Master, s.Published)
	leavesNothingOpen := s.Result.Waiting == 0 && s.Result.Fault == nil
	if isHealthy && mode == drain.Ready && leavesNothingOpen {
		return m.config.Probe.Interval
	}
	return min(m.config.Probe.Interval, hurried)
}

// master returns the subject that is the master itself, which every configuration has.
func (m *Monitor) master() *subject {
	at := slices.IndexFunc(m.services, func(s *subject) bool { return s.name == drain.Master })
	return m.services[at]
}

// watches reports whether a subject is one of the configuration in use.
func (m *Monitor) watches(s *subject) bool { return slices.Contains(m.services, s) }

func (m *Monitor) probeAll(ctx context.Context) {
	m.began = time.Now()
	for _, s := range m.services {
		s.credit = true
		m.probe(ctx, s)
	}
}

// probe starts a probe, or requests another probe if one is in progress.
func (m *Monitor) probe(ctx context.Context, s *subject) {
	if s.asking {
		s.again = true
		return
	}

	s.asking = true
	s.again = false
	m.work.Go(func() {
		o := outcome{subject: s, result: s.prober.Probe(ctx)}
		if s.name == drain.Master {
			o.listeners = listening()
		}
		send(ctx, m.results, o)
	})
}

// send sends v unless ctx ends first, and reports whether it did.
func send[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// observe takes the result of a probe into account.
func (m *Monitor) observe(ctx context.Context, o outcome) {
	s := o.subject
	r := o.result
	s.asking = false
	s.last = r
	s.count++

	m.hooks.Probed(s.name, r.Took)
	s.judge.Observe(r)
	if s.name == drain.Master {
		m.findings.observe(r, time.Now())
	}
	m.audit.probe(s.name, r)

	if s.again {
		m.probe(ctx, s)
	}
	if s.name == drain.Master {
		m.see(ctx, sight{listeners: o.listeners, unit: m.sight.unit})
	}
}

// publish stores what is known now and logs what has changed.
func (m *Monitor) publish() {
	before := m.State()
	next := m.known(time.Now())
	next.conclude(before)

	m.audit.note(before, next)
	m.state.Store(next)
	if next.Judged() && !before.Judged() { // a reload keeps the count of probes
		close(m.judged)
	}
	m.hooks.Published(next)
}

// known returns a state of what is known now, without conclusions.
func (m *Monitor) known(now time.Time) *State {
	s := &State{
		Published: now,
		MaxAge:    m.config.Probe.MaxAge + m.config.Probe.Interval,
		Holds:     m.holds.Current(),
		Findings:  m.findings.list(now),
		Result:    m.master().last,
		Pool:      m.findings.seen.Pool(),
		Address:   m.config.Probe.Address,
		Assumed:   m.config.Probe.Assumed,
		Doubted:   m.doubted,
		Listener:  m.sight.at(m.config.Probe.Address),
		Guarded:   m.sight.unit.Guarded,
	}

	for _, v := range m.services {
		s.Services = append(s.Services, Service{
			Name:    v.name,
			Verdict: v.judge.Verdict().At(now),
			Probes:  v.count,
			Memory:  v.judge.Memory(),
		})
		s.Own = append(s.Own, v.prober.Local()...)
	}

	if db, asked := m.findings.puppetdb(now); asked {
		s.Services = append(s.Services, db)
	}
	return s
}
