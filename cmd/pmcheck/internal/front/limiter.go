package front

import (
	"container/list"
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// limiter is a listener that turns away clients that are not allowed, and that
// never holds more than max connections. Beyond that, a new connection closes
// the oldest one of the address with the most: an honest check lives for
// milliseconds, so that one is idle or hostile, and no crowd can keep a balancer
// out.
type limiter struct {
	net.Listener
	allowed func(client, local netip.AddrPort) bool
	max     int
	sweeps  atomic.Int64 // so far: the limiter's clock

	closing sync.Once

	mu   sync.Mutex
	open *list.List // of *limitedConn, oldest first
}

func newLimiter(l net.Listener, max int, allowed func(client, local netip.AddrPort) bool) *limiter {
	return &limiter{Listener: l, allowed: allowed, max: max, open: list.New()}
}

// Accept returns the next connection from an allowed client.
func (l *limiter) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client, ok := c.RemoteAddr().(*net.TCPAddr)
		if ok && !l.allowed(client.AddrPort(), c.LocalAddr().(*net.TCPAddr).AddrPort()) {
			c.Close()
			continue
		}
		return l.admit(c), nil
	}
}

// Close stops listening. It may be called more than once, which net/http does:
// the file of a unix socket may be another daemon's by then.
func (l *limiter) Close() (err error) {
	l.closing.Do(func() { err = l.Listener.Close() })
	return err
}

// waitForEmpty returns once all connections have been closed, or after limit.
func (l *limiter) waitForEmpty(limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		l.mu.Lock()
		open := l.open.Len()
		l.mu.Unlock()
		if open == 0 {
			return
		}
	}
}

func (l *limiter) admit(c net.Conn) net.Conn {
	admitted := &limitedConn{Conn: c, limiter: l}
	admitted.due.Store(l.in(exchangeTime))
	l.mu.Lock()
	admitted.place = l.open.PushBack(admitted)
	var evicted *limitedConn
	if l.open.Len() > l.max {
		evicted = l.open.Remove(l.oldestOfMost()).(*limitedConn)
	}
	l.mu.Unlock()
	if evicted != nil {
		evicted.Conn.Close() // its reader sees the end and closes it properly
	}
	return admitted
}

// oldestOfMost returns the oldest connection of the address with most. It is
// asked only when there are too many, so the counts are made then.
func (l *limiter) oldestOfMost() (oldest *list.Element) {
	count := map[netip.Addr]int{}
	for e := l.open.Front(); e != nil; e = e.Next() {
		count[source(e.Value.(*limitedConn))]++
	}
	for e := l.open.Front(); e != nil; e = e.Next() {
		if oldest == nil || count[source(e.Value.(*limitedConn))] > count[source(oldest.Value.(*limitedConn))] {
			oldest = e
		}
	}
	return oldest
}

// empty waits until all connections have been closed, but not for long.
func (l *limiter) empty() {
	l.waitForEmpty(shutdownTime)
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.open.Front(); e != nil; e = e.Next() {
		e.Value.(*limitedConn).Conn.Close() // as admit does
	}
}

// sweepEvery is the tick of the limiter's clock.
const sweepEvery = time.Second

// run sweeps every sweepEvery until ctx ends.
func (l *limiter) run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			l.sweep()
		}
	}
}

// sweep closes the connections whose time is up.
func (l *limiter) sweep() {
	now := l.sweeps.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.open.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*limitedConn); c.due.Load() <= now {
			c.Conn.Close() // as admit does
		}
	}
}

// in returns the sweep at which a time from now on is surely over. The clock
// counts sweeps instead of seconds for the sake of a host that was suspended:
// after it resumes, a client that asks has its full time.
func (l *limiter) in(d time.Duration) int64 { return l.sweeps.Load() + int64(d/sweepEvery) + 1 }
