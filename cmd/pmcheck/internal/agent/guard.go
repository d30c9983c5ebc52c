package agent

import (
	"container/list"
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// guard is a listener that turns away those who may not ask, and that never
// holds more than max connections: for a new one beyond that it closes the
// oldest of the address that has most. An honest check lives for milliseconds,
// so that is an idle or a hostile one, and no crowd can keep a balancer out.
type guard struct {
	net.Listener
	allowed func(netip.AddrPort) bool
	max     int
	sweeps  atomic.Int64 // how many there were: the guard's clock

	closing sync.Once

	mu   sync.Mutex
	open *list.List // of *guardedConn, oldest first
}

func newGuard(l net.Listener, max int, allowed func(netip.AddrPort) bool) *guard {
	return &guard{Listener: l, allowed: allowed, max: max, open: list.New()}
}

// Accept returns the next connection from somebody who may ask.
func (g *guard) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok && !g.allowed(tcp.AddrPort()) {
			c.Close()
			continue
		}
		return g.admit(c), nil
	}
}

// Close stops listening. It may be called more than once, which net/http does:
// the file of a unix socket may be another daemon's by then.
func (g *guard) Close() (err error) {
	g.closing.Do(func() { err = g.Listener.Close() })
	return err
}

// awaitEmpty returns once all connections have been closed, or patience has run
// out.
func (g *guard) awaitEmpty(patience time.Duration) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		g.mu.Lock()
		open := g.open.Len()
		g.mu.Unlock()
		if open == 0 {
			return
		}
	}
}

func (g *guard) admit(c net.Conn) net.Conn {
	admitted := &guardedConn{Conn: c, guard: g}
	admitted.due.Store(g.in(exchangeTime))
	g.mu.Lock()
	admitted.place = g.open.PushBack(admitted)
	var evicted *guardedConn
	if g.open.Len() > g.max {
		evicted = g.open.Remove(g.oldestOfMost()).(*guardedConn)
	}
	g.mu.Unlock()
	if evicted != nil {
		evicted.Conn.Close() // its reader sees the end and closes it properly
	}
	return admitted
}

// oldestOfMost returns the oldest connection of the address with most. It is
// asked only when there are too many, so the counts are made then.
func (g *guard) oldestOfMost() (oldest *list.Element) {
	count := map[netip.Addr]int{}
	for e := g.open.Front(); e != nil; e = e.Next() {
		count[e.Value.(*guardedConn).source()]++
	}
	for e := g.open.Front(); e != nil; e = e.Next() {
		if oldest == nil || count[e.Value.(*guardedConn).source()] > count[oldest.Value.(*guardedConn).source()] {
			oldest = e
		}
	}
	return oldest
}

// empty waits until all connections have been closed, but not for long.
func (g *guard) empty() {
	g.awaitEmpty(shutdownTime)
	g.mu.Lock()
	defer g.mu.Unlock()
	for e := g.open.Front(); e != nil; e = e.Next() {
		e.Value.(*guardedConn).Conn.Close() // as admit does
	}
}

// sweepEvery is how coarse the guard's clock is.
const sweepEvery = time.Second

// run looks for those whose time is up, every sweepEvery, until ctx ends.
func (g *guard) run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			g.sweep()
		}
	}
}

// sweep closes the connections whose time is up.
func (g *guard) sweep() {
	now := g.sweeps.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	for e := g.open.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*guardedConn); c.due.Load() <= now {
			c.Conn.Close() // as admit does
		}
	}
}

// in returns the sweep at which a time from now on is surely over. That sweeps
// are counted, and not seconds, is for a host that was suspended: who asks right
// after it has as long as everybody.
func (g *guard) in(d time.Duration) int64 { return g.sweeps.Load() + int64(d/sweepEvery) + 1 }
