package front

import (
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// limitedConn is a connection that the limiter has admitted. The limiter closes it
// unless a request and its answer are done within exchangeTime, and the next request
// begins within idleTime. A second more or less does not matter, so limiter.sweep is
// the clock of all connections: with the timeouts of http.Server, each request would
// read the clock four times and set five timers.
type limitedConn struct {
	net.Conn
	limiter *limiter
	due     atomic.Int64 // the sweep that closes the connection
	idle    atomic.Bool  // between an answer and the next request

	read, write deadline
}

// Read starts exchangeTime when the first byte of a new request arrives.
func (c *limitedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.idle.Load() {
		c.idle.Store(false)
		c.due.Store(c.limiter.in(exchangeTime))
	}
	return n, err
}

// noteIdle is http.Server's ConnState hook: it starts the idle time of a connection.
func noteIdle(c net.Conn, state http.ConnState) {
	if state != http.StateIdle {
		return
	}
	limited := c.(*hostlessConn).limitedConn
	limited.due.Store(limited.limiter.in(idleTime))
	limited.idle.Store(true)
}

func (c *limitedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *limitedConn) SetReadDeadline(t time.Time) error {
	return c.read.set(t, c.Conn.SetReadDeadline)
}

func (c *limitedConn) SetWriteDeadline(t time.Time) error {
	return c.write.set(t, c.Conn.SetWriteDeadline)
}

// deadline is a read or write deadline. net/http clears four for each request, of
// which it has set none or one; clearing one that is not set costs nothing here.
type deadline struct{ there atomic.Bool }

func (d *deadline) set(t time.Time, pass func(time.Time) error) error {
	if t.IsZero() && !d.there.Load() {
		return nil
	}
	d.there.Store(!t.IsZero())
	return pass(t)
}

// Close removes the connection from the limiter and closes it. It may be called more
// than once.
func (c *limitedConn) Close() error {
	c.limiter.mu.Lock()
	c.limiter.remove(c)
	c.limiter.mu.Unlock()
	return c.Conn.Close()
}
