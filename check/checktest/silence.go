package checktest

import (
	"errors"
	"net"
	"os"
	"time"
)

// silenced is a listener that accepts nothing while the master is Silent or NotAccepting. Its connections return
// no data while the master is Silent or Saturated, nor while it is being Stopped: a request
// that waited must end with its connection.
type silenced struct {
	*net.TCPListener
	master *Master
}

func (g silenced) Accept() (net.Conn, error) {
	for {
		g.master.waitWhile(func() bool { return g.master.state == Silent || g.master.state == NotAccepting })
		g.SetDeadline(time.Time{})

		c, err := g.TCPListener.Accept()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			continue // the master has become Silent or NotAccepting
		}
		if err != nil {
			return nil, err
		}
		return &silencedConn{Conn: c, master: g.master}, nil
	}
}

type silencedConn struct {
	net.Conn
	master *Master
	closed bool
}

func (c *silencedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)

	m := c.master
	m.waitWhile(func() bool {
		if c.closed {
			return false
		}
		return m.state == Silent || m.state == Saturated || m.state == Stopped
	})
	return n, err
}

func (c *silencedConn) Close() error {
	err := c.Conn.Close() // before a Read returns, or the request would be answered
	c.master.mu.Lock()
	c.closed = true
	c.master.mu.Unlock()
	c.master.changed.Broadcast()
	return err
}
