package front

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// crowd is a listener that refuses clients that are not allowed, and never keeps more
// than max connections. If there is one more, it closes the oldest connection of the
// party that has the most. A real check lasts milliseconds, so that connection is idle
// or hostile, and no number of them can keep a balancer out.
type crowd struct {
	net.Listener
	allowed func(client, local netip.AddrPort) bool // nil means every client
	refused func(client netip.Addr, limit bool)
	max     int

	mu    sync.Mutex
	open  []*conn // oldest first
	count map[party]int
}

// party is who shares connections: an address, or a user of this host on the unix socket.
type party struct {
	address netip.Addr
	user    uint32
}

// conn is a connection that a crowd has admitted.
type conn struct {
	net.Conn
	crowd *crowd
	party party
}

// Accept returns the next connection from an allowed client.
func (l *crowd) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := address(c.RemoteAddr())
		if l.allowed != nil && !l.allowed(client, address(c.LocalAddr())) {
			c.Close()
			l.refuse(Address(client), false)
			continue
		}
		admitted := &conn{Conn: c, crowd: l, party: party{address: Address(client)}}
		if local, ok := c.(*net.UnixConn); ok {
			admitted.party.user = user(local)
		}
		l.admit(admitted)
		return &hostlessConn{Conn: admitted}, nil
	}
}

// Address returns the address of a client in the form that the configuration uses: an
// IPv4-mapped IPv6 address becomes IPv4, and a link-local address loses its zone.
func Address(client netip.AddrPort) netip.Addr { return client.Addr().Unmap().WithZone("") }

// address returns the address of one end of a connection; zero on a unix socket.
func address(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}

func (l *crowd) admit(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, c)
	l.count[c.party]++
	if len(l.open) <= l.max {
		return
	}
	evicted := slices.MaxFunc(l.open, func(a, b *conn) int { return cmp.Compare(l.count[a.party], l.count[b.party]) })
	l.remove(evicted)
	evicted.Conn.Close() // its reader sees the end and closes it properly
	l.refuse(evicted.party.address, true)
}

func (l *crowd) refuse(client netip.Addr, limit bool) {
	if l.refused != nil && client.IsValid() {
		l.refused(client, limit)
	}
}

func (l *crowd) remove(c *conn) {
	at := slices.Index(l.open, c)
	if at < 0 {
		return
	}
	l.open = slices.Delete(l.open, at, at+1)
	if l.count[c.party]--; l.count[c.party] == 0 {
		delete(l.count, c.party)
	}
}

// awaitNone waits until all connections have been closed, for d at most. It counts pauses
// instead of reading the clock: on a host without a free CPU, where a request waits for its
// turn, a pause takes longer too.
func (l *crowd) awaitNone(d time.Duration) {
	const pause = 2 * time.Millisecond
	for range d / pause {
		l.mu.Lock()
		left := len(l.open)
		l.mu.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(pause)
	}
}

// Close closes the connection, which then counts no longer.
func (c *conn) Close() error {
	c.crowd.mu.Lock()
	c.crowd.remove(c)
	c.crowd.mu.Unlock()
	return c.Conn.Close()
}
