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
// or hostile; only thousands of new parties a second can cost a check, which allow prevents.
type crowd struct {
	net.Listener
	allowed func(client netip.Addr) bool // nil means every client
	refused func(client netip.Addr, limit bool)
	max     int

	mu    sync.Mutex
	open  []*conn // oldest first
	count map[party]*int
}

// party is who shares connections: an address, or a user of this host on the unix socket.
type party struct {
	address netip.Addr
	user    uint32
}

// Accept returns the next connection from an allowed client.
func (l *crowd) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		admitted := &conn{Conn: c, crowd: l}
		switch c := c.(type) {
		case *net.TCPConn:
			admitted.party.address = Address(c.RemoteAddr().(*net.TCPAddr).AddrPort())
		case *net.UnixConn:
			admitted.party.user = user(c)
		}
		client := admitted.party.address
		if l.allowed != nil && !l.allowed(client) {
			c.Close()
			l.refuse(client, false)
			continue
		}
		l.admit(admitted)
		return admitted, nil
	}
}

// Address returns the address of a client in the form that the configuration uses: an
// IPv4-mapped IPv6 address becomes IPv4, and a link-local address loses its zone.
func Address(client netip.AddrPort) netip.Addr { return client.Addr().Unmap().WithZone("") }

func (l *crowd) admit(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[c.party] == nil {
		l.count[c.party] = new(int)
	}
	c.siblings = l.count[c.party]
	*c.siblings++
	l.open = append(l.open, c)
	if len(l.open) <= l.max {
		return
	}
	evicted := slices.MaxFunc(l.open, func(a, b *conn) int { return cmp.Compare(*a.siblings, *b.siblings) })
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
	if *c.siblings--; *c.siblings == 0 {
		delete(l.count, c.party)
	}
}

// awaitNone returns when no connection is open, or after a while.
func (l *crowd) awaitNone(while time.Duration) {
	const pause = 2 * time.Millisecond
	for range while / pause {
		l.mu.Lock()
		left := len(l.open)
		l.mu.Unlock()
		if left == 0 {
			return
		}
		time.Sleep(pause)
	}
}
