package front

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// limiter is a listener that refuses clients that are not allowed, and never keeps more
// than max connections. If there is one more, it closes the oldest connection of the
// address with the most connections. A real check lasts milliseconds, so that connection
// is idle or hostile, and no number of them can keep a balancer out.
type limiter struct {
	net.Listener
	wait    func()                                  // called before each Accept; may be nil
	allowed func(client, local netip.AddrPort) bool // nil means every client
	max     int
	sweeps  atomic.Int64 // so far: the limiter's clock

	closing sync.Once

	mu    sync.Mutex
	open  []*limitedConn // oldest first
	timer *time.Timer    // of the next sweep; nil in a test that sweeps itself
}

// Accept returns the next connection from an allowed client.
func (l *limiter) Accept() (net.Conn, error) {
	if l.wait != nil {
		l.wait()
	}
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.allowed == nil || l.allowed(address(c.RemoteAddr()), address(c.LocalAddr())) {
			return &hostlessConn{limitedConn: l.admit(c)}, nil
		}
		c.Close()
	}
}

// Close stops listening. Only the first call does: net/http calls Close more than once,
// and by then the file of a unix socket may belong to another daemon.
func (l *limiter) Close() (err error) {
	l.closing.Do(func() { err = l.Listener.Close() })
	return err
}

func (l *limiter) admit(c net.Conn) *limitedConn {
	admitted := &limitedConn{Conn: c, limiter: l}
	admitted.due.Store(l.in(exchangeTime))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, admitted)
	if len(l.open) == 1 {
		l.wind()
	}
	if len(l.open) > l.max {
		evicted := l.oldestOfMost()
		l.remove(evicted)
		evicted.Conn.Close() // its reader sees the end and closes it properly
	}
	return admitted
}

// oldestOfMost returns the oldest connection of the address with the most connections.
// It counts them itself, because it is called only when there are too many.
func (l *limiter) oldestOfMost() *limitedConn {
	count := map[netip.Addr]int{}
	for _, c := range l.open {
		count[source(c)]++
	}
	return slices.MaxFunc(l.open, func(a, b *limitedConn) int {
		return cmp.Compare(count[source(a)], count[source(b)])
	})
}

// address returns the address of one end of a connection; zero on a unix socket.
func address(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}

// source returns the address of a client; zero on a unix socket.
func source(c net.Conn) netip.Addr { return Address(address(c.RemoteAddr())) }

func (l *limiter) remove(c *limitedConn) {
	l.open = slices.DeleteFunc(l.open, func(open *limitedConn) bool { return open == c })
}

// empty waits until all connections have been closed, and closes those that are
// left after shutdownTime. It counts pauses instead of reading the clock: on a
// host without a free CPU, where a request waits for its turn, a pause takes
// longer too.
func (l *limiter) empty() {
	const pause = 2 * time.Millisecond
	l.mu.Lock()
	defer l.mu.Unlock()
	for range shutdownTime / pause {
		if len(l.open) == 0 {
			return
		}
		l.mu.Unlock()
		time.Sleep(pause)
		l.mu.Lock()
	}
	for _, c := range l.open {
		c.Conn.Close() // as admit does
	}
}

// sweepEvery is the tick of the limiter's clock. It stands still while there are no connections,
// so an idle daemon is not woken.
const sweepEvery = time.Second

// wind makes the clock tick a second from now. A tick that was still due came from a time without
// connections, and may be lost.
func (l *limiter) wind() {
	if l.timer != nil {
		l.timer.Reset(sweepEvery)
	}
}

// sweep closes the connections whose time is up.
func (l *limiter) sweep() {
	now := l.sweeps.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		if c.due.Load() <= now {
			c.Conn.Close() // as admit does
		}
	}
	if len(l.open) > 0 {
		l.wind()
	}
}

// in returns the first sweep at which d has certainly passed from now. The clock counts
// sweeps instead of seconds because a host may be suspended: after it resumes, a client
// that asks has its full time.
func (l *limiter) in(d time.Duration) int64 { return l.sweeps.Load() + int64(d/sweepEvery) + 1 }
