package agent

import (
	"container/list"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

// guardedConn is a connection that has a place. It loses the place unless a
// request and its answer are done within exchangeTime, and the next request
// begins within idleTime. Nobody cares for a second more or less, so one
// guard.sweep is the clock of all of them; with the timeouts of http.Server each
// request would look at it four times and set five timers.
type guardedConn struct {
	net.Conn
	guard *guard
	place *list.Element
	due   atomic.Int64 // the sweep at which the place is lost
	idle  atomic.Bool  // between an answer and the next request

	read, write deadline
}

// Read implements net.Conn. What comes after a pause begins a request.
func (c *guardedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.idle.Load() {
		c.idle.Store(false)
		c.due.Store(c.guard.in(exchangeTime))
	}
	return n, err
}

// noteIdle is told by net/http what becomes of connections.
func noteIdle(c net.Conn, state http.ConnState) {
	if state != http.StateIdle {
		return
	}
	for {
		switch outer := c.(type) {
		case *hostlessConn:
			c = outer.Conn
		case *tls.Conn:
			c = outer.NetConn()
		case *guardedConn:
			outer.due.Store(outer.guard.in(idleTime))
			outer.idle.Store(true)
			return
		default:
			return
		}
	}
}

// SetDeadline implements net.Conn.
func (c *guardedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *guardedConn) SetReadDeadline(t time.Time) error {
	return c.read.set(t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline implements net.Conn.
func (c *guardedConn) SetWriteDeadline(t time.Time) error {
	return c.write.set(t, c.Conn.SetWriteDeadline)
}

// deadline is one of a connection's. net/http takes back four for each request,
// of which it has set none or one: what is not there need not be taken back.
type deadline struct{ there atomic.Bool }

func (d *deadline) set(t time.Time, pass func(time.Time) error) error {
	if t.IsZero() && !d.there.Load() {
		return nil
	}
	d.there.Store(!t.IsZero())
	return pass(t)
}

// source is the address of the client; the zero address on a unix socket.
func (c *guardedConn) source() netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// Close gives the place back. It may be called more than once.
func (c *guardedConn) Close() error {
	c.guard.mu.Lock()
	c.guard.open.Remove(c.place) // does nothing if it was removed already
	c.guard.mu.Unlock()
	return c.Conn.Close()
}
