package monitor

import (
	"context"
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// confirmAfter is the pause before a second probe confirms a fault: longer than the moment
// in which a listener that is being replaced refuses, short compared with every balancer's
// interval.
const confirmAfter = 20 * time.Millisecond

// subject is one service that is probed: the master itself, or a service beside it. Only
// the loop changes it.
type subject struct {
	name  string
	probe func(context.Context) check.Result
	close func()
	local func() []netip.AddrPort // the daemon's ends of its connections
	judge check.Judge

	asking bool      // a probe is under way
	again  bool      // another probe must follow as soon as this one is done
	credit bool      // a lost connection may still cause a probe before the next that is due
	lost   time.Time // when the master last ended a kept connection
	count  int64
	last   check.Result
}

type outcome struct {
	subject *subject
	result  check.Result
}

// lostRecently is how long after the end of a kept connection a refused or reset one is
// confirmed without a pause.
const lostRecently = time.Second

// gone reports whether the master has just ended a kept connection, and refuses or ends a new
// one: its process is exiting. The kernel may end the connections of a process before it closes
// the listener, and then accepts one more, to end it at once. The second probe need not wait,
// because a listener that is being replaced leaves established connections alone.
func (s *subject) gone(r check.Result, now time.Time) bool {
	if r.Fault == nil || now.Sub(s.lost) >= lostRecently {
		return false
	}
	return r.Fault.Reason == check.Refused || r.Fault.Reason == check.ConnectionLost
}

// newHost returns the settings that all clients of a configuration share.
func newHost(c config.Probe, credentials *puppetclient.Credentials) check.Host {
	return check.Host{
		Address:     c.Address,
		Certname:    c.Certname,
		Environment: c.Environment,
		Credentials: credentials,
		Timeout:     c.Timeout,
		Accepts:     func(ctx context.Context) (bool, error) { return tcp.Accepts(ctx, c.Address) },
	}
}

// subjects returns the subjects of a configuration. The first is the master. A subject
// whose kept connection the master closes is sent to lost. A subject takes over the
// results of the old one with the same name, so that a reload does not forget a verdict.
func subjects(c config.Config, host check.Host, lost chan<- *subject, old []*subject) []*subject {
	list := []*subject{newSubject(host, Server, "", lost)}
	for _, name := range c.Services {
		list = append(list, newSubject(host, name, name, lost))
	}
	for _, s := range list {
		for _, o := range old {
			if o.name == s.name {
				s.judge, s.count, s.last = o.judge, o.count, o.last
			}
		}
		s.judge.Fall, s.judge.MaxAge = c.Probe.Fall, c.Probe.MaxAge
		s.judge.StuckAfter = check.Settings[check.JRubySettings](c.Checks).StuckAfter
	}
	return list
}

// newSubject returns a subject that is probed through the Status API.
func newSubject(host check.Host, name, service string, lost chan<- *subject) *subject {
	prober := host.Prober(service)
	s := &subject{name: name, probe: prober.Probe, close: prober.Close, local: prober.Local}
	prober.Lost = func() {
		select {
		case lost <- s:
		default: // another subject's connection was lost too, and the next probe is due soon
		}
	}
	return s
}

func faultText(r check.Result) string {
	if r.Fault == nil {
		return ""
	}
	return r.Fault.Error()
}
