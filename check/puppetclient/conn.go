package puppetclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// conn is a connection to the master that remembers how it was made and how
// it ended. net/http reads a kept connection all the time, so the end of it
// is known at once, long before the next request.
type conn struct {
	*tls.Conn
	born  time.Time
	state tls.ConnectionState
	lost  func() // called once, when the peer ends the connection, if not nil
	ended func() // called by Close, if not nil

	closed atomic.Bool           // by Close, not by the peer
	err    atomic.Pointer[error] // why reading ended
}

// dial connects and shakes hands. It fails with the handshake's own error.
func dial(ctx context.Context, address string, config *tls.Config, lost func()) (*conn, error) {
	raw, err := connect(ctx, address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: tls.Client(raw, config), born: time.Now(), lost: lost}
	if err := c.Conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	c.state = c.ConnectionState()
	return c, nil
}

// Read notes the first error, and reports a connection that the peer ended.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && !c.closed.Load() && c.err.CompareAndSwap(nil, &err) && c.lost != nil {
		c.lost()
	}
	return n, err
}

// Close ends the connection from this side.
func (c *conn) Close() error {
	c.closed.Store(true)
	if c.ended != nil {
		c.ended()
	}
	return c.Conn.Close()
}

// refusal returns the TLS alert with which the peer ended the connection, or
// nil. With TLS 1.3 a refused client certificate shows only here, and the
// request may fail on a write before the alert is read.
func (c *conn) refusal() error {
	if c == nil {
		return nil
	}
	if err := c.err.Load(); err != nil && remoteAlert(*err) {
		return *err
	}
	return nil
}

// remoteAlert reports whether an error is a TLS alert sent by the peer. The
// type of the alert is not exported; crypto/tls marks it by the operation.
func remoteAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}
