package front

import (
	"bytes"
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
)

// crowd is a listener that refuses clients that are not allowed, and never keeps more
// than max connections. At the next connection it closes the oldest connection of the
// origin that has the most. A real check lasts milliseconds, so that connection is idle
// or hostile; only as many origins as there may be connections can cost a check, which
// allow prevents.
type crowd struct {
	net.Listener
	allowed func(client netip.Addr) bool // nil means every client
	refused func(Refusal)
	max     int
	served  sync.WaitGroup // waits for the end of every connection

	mu    sync.Mutex
	open  []*conn // oldest first
	count map[origin]*int
}

// origin is who shares connections: a network whose addresses one client may have, or a user of this host on the unix
// socket.
type origin struct {
	network netip.Prefix
	user    uint32
}

func originOf(client netip.Addr) origin { return origin{network: balancer.Network(client)} }

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
			admitted.client = Address(c.RemoteAddr().(*net.TCPAddr).AddrPort())
			admitted.origin = originOf(admitted.client)
		case *net.UnixConn:
			admitted.origin.user = user(c)
		}

		if l.allowed != nil && !l.allowed(admitted.client) {
			l.refuse(Refusal{Client: admitted.client, By: ByAllow}) // it is counted before it notices
			c.Close()
			continue
		}

		if evicted := l.admit(admitted); evicted != nil {
			l.refuse(Refusal{Client: evicted.client, By: ByLimit})
			evicted.Conn.Close() // its reader sees the end and closes it properly
		}
		return admitted, nil
	}
}

// Address returns the address of a client in the form that the configuration uses: an
// IPv4-mapped IPv6 address becomes IPv4, and a link-local address loses its zone.
func Address(client netip.AddrPort) netip.Addr { return client.Addr().Unmap().WithZone("") }

// admit adds a connection, and returns the connection that has to make room for it, or nil.
func (l *crowd) admit(c *conn) (evicted *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.count[c.origin] == nil {
		l.count[c.origin] = new(int)
	}
	c.siblings = l.count[c.origin]
	*c.siblings++

	l.served.Add(1)
	l.open = append(l.open, c)
	if len(l.open) <= l.max {
		return nil
	}

	// MaxFunc returns the first of equals, which is the oldest.
	evicted = slices.MaxFunc(l.open, func(a, b *conn) int { return cmp.Compare(*a.siblings, *b.siblings) })
	l.remove(evicted)
	return evicted
}

// refuse tells of a client over TCP that is refused.
func (l *crowd) refuse(r Refusal) {
	if l.refused != nil && r.Client.IsValid() {
		l.refused(r)
	}
}

// note tells of a request that is refused, by the beginning of its answer. Some of these answers are net/http's own, so
// there is no other place that sees them all.
func (l *crowd) note(c *conn, answer []byte) {
	r := Refusal{
		Client: c.client,
		By:     ByRequest,
		Asked:  c.asked[:c.askedLen],
	}

	switch code(answer) {
	case "400":
		r.Code = http.StatusBadRequest
	case "405":
		r.Code = http.StatusMethodNotAllowed
	default:
		return
	}
	l.refuse(r)
}

// remove forgets a connection, and reports whether it was still known. The caller must hold mu.
func (l *crowd) remove(c *conn) bool {
	at := slices.Index(l.open, c)
	if at < 0 {
		return false
	}

	l.served.Done()
	l.open = slices.Delete(l.open, at, at+1)
	*c.siblings--
	if *c.siblings == 0 {
		delete(l.count, c.origin)
	}
	return true
}

// conn is a connection that a crowd has admitted. It reads a whole request, completes the first line of the request,
// and changes the first line of the answer: see firstline.go.
type conn struct {
	net.Conn
	crowd    *crowd
	client   netip.Addr // of a client over TCP
	origin   origin
	siblings *int // how many connections of the origin are open

	asked      [maxAsked]byte // the beginning of what the client sent
	askedLen   int            // how much of asked is filled
	read       bool           // the request has been read
	unread     []byte         // what net/http has not read of a request that arrived in pieces
	endedEarly atomic.Bool    // the client has ended, or its time was over, before its request was whole
	answered   bool           // the answer has begun
}

// Read returns the request once it is whole: nothing depends on how TCP has cut it. The time for that is net/http's.
func (c *conn) Read(b []byte) (int, error) {
	if len(c.unread) > 0 {
		n := copy(b, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	if c.read || len(b) <= room { // net/http waits for the end of the client with a read of one byte
		return c.Conn.Read(b)
	}

	n, err := c.Conn.Read(b[:len(b)-room])
	if err == nil && !isWhole(b[:n]) {
		return c.readOn(b, n)
	}
	c.noteRead(b[:n], err)
	return complete(b, n), err
}

// readOn reads the rest of a request that has begun in b[:n].
func (c *conn) readOn(b []byte, n int) (int, error) {
	request := bytes.Clone(b[:n])
	var err error
	for err == nil && !isWhole(request) && len(request) < maxHeader {
		n, err = c.Conn.Read(b)
		request = append(request, b[:n]...)
	}
	c.noteRead(request, err)

	n = len(request)
	request = append(request, make([]byte, room)...)
	request = request[:complete(request, n)]
	n = copy(b, request)
	c.unread = request[n:]
	if len(c.unread) > 0 { // a later read has the error, too
		err = nil
	}
	return n, err
}

// noteRead notes that the request has been read, or what there is of it before an error.
func (c *conn) noteRead(request []byte, err error) {
	c.read = true
	c.askedLen = copy(c.asked[:], request)
	c.endedEarly.Store(err != nil)
}

// Write writes a part of the answer.
func (c *conn) Write(b []byte) (int, error) {
	if c.answered {
		return c.Conn.Write(b)
	}

	c.answered = true
	answer := versioned(b)
	if !c.endedEarly.Load() { // net/http writes 400 then, too
		c.crowd.note(c, answer)
	}

	n, err := c.Conn.Write(answer)
	return min(n, len(b)), err // answer may be longer
}

// Close closes the connection, which then counts no longer.
func (c *conn) Close() error {
	c.crowd.mu.Lock()
	wasOpen := c.crowd.remove(c)
	c.crowd.mu.Unlock()

	if wasOpen && c.endedEarly.Load() { // a connection that was not open has made room for another
		c.crowd.refuse(Refusal{
			Client: c.client,
			By:     BySilence,
			Asked:  c.asked[:c.askedLen],
		})
	}
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
