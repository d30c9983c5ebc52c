package front

import (
	"bytes"
	"cmp"
	"net"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
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
	served  sync.WaitGroup // waits for the end of every connection

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
		if evicted := l.admit(admitted); evicted != nil {
			evicted.Conn.Close() // its reader sees the end and closes it properly
			l.refuse(evicted.party.address, true)
		}
		return admitted, nil
	}
}

// Address returns the address of a client in the form that the configuration uses: an
// IPv4-mapped IPv6 address becomes IPv4, and a link-local address loses its zone.
func Address(client netip.AddrPort) netip.Addr { return client.Addr().Unmap().WithZone("") }

// admit adds a connection, and returns the one that has to make room for it, or nil.
func (l *crowd) admit(c *conn) (evicted *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count[c.party] == nil {
		l.count[c.party] = new(int)
	}
	c.siblings = l.count[c.party]
	*c.siblings++
	l.served.Add(1)
	l.open = append(l.open, c)
	if len(l.open) > l.max {
		evicted = slices.MaxFunc(l.open, func(a, b *conn) int { return cmp.Compare(*a.siblings, *b.siblings) })
		l.remove(evicted)
	}
	return evicted
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
	l.served.Done()
	l.open = slices.Delete(l.open, at, at+1)
	if *c.siblings--; *c.siblings == 0 {
		delete(l.count, c.party)
	}
}

// conn is a connection that a crowd has admitted.
//
// It adds a Host header to HTTP/1.1 requests without one. HAProxy sends such
// requests ("option httpchk GET / HTTP/1.1", unless the header is written out); net/http
// refuses them with 400, and a balancer would conclude that the master is dead. The
// name in the header means nothing here.
type conn struct {
	net.Conn
	crowd    *crowd
	party    party
	siblings *int // how many connections of the party are open
}

const suppliedHost = "Host: pmcheck\r\n"

// Read completes a request that arrives in one piece, as a health check does. A request
// that arrives in pieces is not changed.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) <= len(suppliedHost) { // net/http waits for the end of the client with a read of one byte
		return c.Conn.Read(b)
	}
	n, err := c.Conn.Read(b[:len(b)-len(suppliedHost)])
	if at := missingHost(b[:n]); at > 0 {
		copy(b[at+len(suppliedHost):], b[at:n])
		copy(b[at:], suppliedHost)
		n += len(suppliedHost)
	}
	return n, err
}

// missingHost returns where a Host header belongs in a whole HTTP/1.1 request
// that has none, and 0 in anything else.
func missingHost(request []byte) int {
	end := bytes.IndexByte(request, '\n') + 1
	if !bytes.HasSuffix(request[:end], []byte(" HTTP/1.1\r\n")) || !bytes.HasSuffix(request, []byte("\r\n\r\n")) {
		return 0
	}
	if bytes.Contains(bytes.ToLower(request), []byte("\nhost:")) {
		return 0
	}
	return end
}

// Close closes the connection, which then counts no longer.
func (c *conn) Close() error {
	c.crowd.mu.Lock()
	c.crowd.remove(c)
	c.crowd.mu.Unlock()
	return c.Conn.Close()
}

// user returns the user who has opened a connection of a unix socket, and 0 if the kernel
// does not tell.
func user(c *net.UnixConn) (uid uint32) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = peer.Uid
		}
	})
	return uid
}
