package puppetclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// conn is a connection to the server that records when it was made and how it ended.
// net/http always has a read pending on an idle connection, so its end is noticed at
// once, long before the next request.
type conn struct {
	net.Conn
	tls     *tls.Conn // Conn; nil over plain HTTP
	client  *Client
	born    time.Time
	expires time.Time             // when the first of its certificates and CRLs does, after born; zero if none does
	trouble error                 // why no certificate is offered
	closed  atomic.Bool           // by Close, not by the peer
	err     atomic.Pointer[error] // why reading ended
}

// shakeHands makes c a TLS connection.
func (c *conn) shakeHands(ctx context.Context, m *material, serverName string) error {
	own := &m.own
	if c.trouble = m.trouble(c.born); c.trouble != nil {
		own = &tls.Certificate{}
	}
	c.tls = tls.Client(c.Conn, m.clientConfig(serverName, own))
	if err := c.tls.HandshakeContext(ctx); err != nil {
		return err
	}
	c.Conn, c.expires = c.tls, m.nextExpiry(c.tls.ConnectionState().PeerCertificates, c.born)
	return nil
}

// Read records the first error, and calls Client.Lost if the peer ended the connection.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && !c.closed.Load() && c.err.CompareAndSwap(nil, &err) && c.client.Lost != nil {
		c.client.Lost()
	}
	return n, err
}

// Close closes the connection from this side.
func (c *conn) Close() error {
	c.closed.Store(true)
	c.client.open.Delete(c)
	c.client.conn.CompareAndSwap(c, nil)
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

// remoteAlert reports whether an error is a TLS alert sent by the peer. crypto/tls
// wraps such an alert, whose type it does not export, in a net.OpError with this Op.
func remoteAlert(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "remote error"
}
