package monitor

import (
	"context"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// surroundings is what was last seen around the master.
type surroundings struct {
	looking bool  // a look is under way
	files   int   // how often the files of the probe have changed
	unused  error // why the newest are not in use
	// queued is when the queue of the listener was last looked at, and was empty or not known.
	// accepts is set if it was empty; not for a master on another host.
	queued  time.Time
	accepts bool
}

// well reports whether nothing around the master is a reason to probe it.
func (s surroundings) well() bool { return s.unused == nil && s.accepts }

// lookAround looks at the files, and from time to time at the queue of the listener. The
// result goes to the loop, which must not wait for a file system. While one hangs, there is no
// calm.
func (m *Monitor) lookAround(ctx context.Context, now time.Time) {
	c := &m.calm
	if !c.possible {
		return
	}
	if c.around.looking {
		c.stirred = now
		return
	}
	next, credentials, address := c.around, m.credentials, m.config.Probe.Address
	due := now.Sub(next.queued) >= settles
	c.around.looking = true // next.looking is false
	m.work.Go(func() {
		next.files, next.unused = credentials.Look()
		if due {
			n, err := tcp.Unaccepted(address)
			next.accepts = n == 0 && err == nil
			if n == 0 { // else the next look shows whether they were accepted
				next.queued = now
			}
		}
		send(ctx, m.looks, look{credentials, next})
	})
}

// look is the result of a look, with the credentials that it was made with.
type look struct {
	credentials *puppetclient.Credentials
	surroundings
}

// looked takes in a look. A change of the files, or a connection that waits to be accepted, is
// followed by a probe.
func (m *Monitor) looked(ctx context.Context, l look, now time.Time) {
	if l.credentials != m.credentials {
		m.calm.around.looking = false
		return
	}
	calm, changed := m.calmly(now), l.files != m.calm.around.files
	m.calm.around = l.surroundings
	if changed || !l.well() {
		m.calm.stirred = now
		m.probeIf(ctx, m.services[0], calm)
	}
}
