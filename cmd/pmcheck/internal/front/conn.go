package front

import (
	"bytes"
	"net"
)

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
// that arrives in pieces, or behind another one, is not changed.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) <= len(suppliedHost) { // net/http waits for the next request with a read of one byte
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
// that has none, and 0 in anything else. The first byte of the request may be missing.
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
