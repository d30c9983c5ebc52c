package checktest

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// silenced is a listener that accepts nothing while the master is Silent. Its connections return
// no data while the master is Silent or Saturated.
type silenced struct {
	*net.TCPListener
	master *Master
}

// Accept implements net.Listener.
func (g silenced) Accept() (net.Conn, error) {
	for {
		<-*g.master.accepts.Load()
		g.SetDeadline(time.Time{})
		c, err := g.TCPListener.Accept()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
		case err != nil:
			return nil, err
		default:
			return &silencedConn{Conn: c, master: g.master, closed: make(chan struct{})}, nil
		}
	}
}

type silencedConn struct {
	net.Conn
	master *Master
	once   sync.Once
	closed chan struct{}
}

// Read blocks while the master is Silent or Saturated.
func (c *silencedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.master.mu.Lock()
	speaks := c.master.speaks
	c.master.mu.Unlock()
	select {
	case <-speaks:
	case <-c.closed:
	}
	return n, err
}

// Close also unblocks a Read.
func (c *silencedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
