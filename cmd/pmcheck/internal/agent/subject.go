package agent

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// confirmAfter is the pause before a fault is confirmed: long enough for a
// listener that was replaced, short against any balancer's interval.
const confirmAfter = 20 * time.Millisecond

// subject is one service that is probed: the master itself, or one beside it.
// It belongs to the loop.
type subject struct {
	name  string
	probe func(context.Context) check.Result
	close func()
	local func() []netip.AddrPort // our ends of its connections
	judge check.Judge

	asking bool // a probe is under way
	again  bool // another is wanted as soon as it is done
	credit bool // a lost connection may cause one probe between two ticks
	count  int64
	last   check.Result
}

// outcome is a result and whom it concerns.
type outcome struct {
	subject *subject
	result  check.Result
}

// subjects makes the subjects of a configuration. The first is the master.
func (l *loop) subjects(c config.Config) []*subject {
	list := []*subject{l.probed(c, Server, "")}
	for _, name := range c.Services {
		list = append(list, l.probed(c, name, name))
	}
	for _, s := range c.TCPServices {
		name, address, _ := strings.Cut(s, "=")
		tcp := &check.TCP{Address: address, Timeout: c.Probe.Timeout}
		list = append(list, &subject{name: name, probe: tcp.Probe, close: func() {}, local: func() []netip.AddrPort { return nil }})
	}
	for _, s := range list {
		s.judge.Rise, s.judge.Fall, s.judge.MaxAge = c.Probe.Rise, c.Probe.Fall, c.Probe.MaxAge
		s.credit = true
	}
	return list
}

// probed is a subject that answers the Status API.
func (l *loop) probed(c config.Config, name, service string) *subject {
	s := &subject{name: name}
	prober := &check.Prober{Environment: c.Probe.Environment, Client: newClient(c.Probe, l.credentials), Service: service}
	prober.Lost = func() {
		select {
		case l.lost <- s:
		default: // somebody else's was lost too: the next tick is not far
		}
	}
	s.probe, s.close, s.local = prober.Probe, prober.Close, prober.Local
	return s
}

// keep hands the judge of a subject to the one that replaces it, so that a
// reload does not forget a verdict.
func (s *subject) keep(old []*subject) {
	for _, o := range old {
		if o.name == s.name {
			rise, fall, age := s.judge.Rise, s.judge.Fall, s.judge.MaxAge
			s.judge = o.judge
			s.judge.Rise, s.judge.Fall, s.judge.MaxAge = rise, fall, age
			s.count, s.last = o.count, o.last
		}
	}
}

// ask starts a probe, or remembers that one is wanted.
func (l *loop) ask(ctx context.Context, s *subject) {
	if s.asking {
		s.again = true
		return
	}
	s.asking, s.again = true, false
	l.work.Go(func() {
		r := s.probe(ctx)
		select {
		case l.results <- outcome{s, r}:
		case <-ctx.Done():
		}
	})
}

func (l *loop) askIf(ctx context.Context, s *subject, wanted bool) {
	if wanted {
		l.ask(ctx, s)
	}
}

// observe takes in a result.
func (l *loop) observe(ctx context.Context, s *subject, r check.Result) {
	s.asking = false
	s.count++
	s.last = r
	l.measure(s.name, r.Took)
	served := s.judge.Verdict().Health.Serves()
	s.judge.Patience = l.patience(s)
	verdict, confirm := s.judge.Observe(r)
	if s.name == Server {
		l.concluded(served, verdict.Health.Serves(), r)
	}
	l.log.Debug("probe", "service", s.name, "took", r.Took, "handshake", r.Handshake, "url", r.URL, "fault", faultText(r))
	switch {
	case s.again:
		l.ask(ctx, s)
	case confirm:
		time.AfterFunc(confirmAfter, func() {
			select {
			case l.wanted <- s:
			case <-ctx.Done():
			}
		})
	}
}

func faultText(r check.Result) string {
	if r.Fault == nil {
		return ""
	}
	return r.Fault.Error()
}
