package checktest

import (
	"net"
	"sync"
)

// silenced is a listener whose connections return no data while the master is Silent.
type silenced struct {
	net.Listener
	master *Master
}

// Accept implements net.Listener.
func (g silenced) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &silencedConn{Conn: c, master: g.master, closed: make(chan struct{})}, nil
}

type silencedConn struct {
	net.Conn
	master *Master
	once   sync.Once
	closed chan struct{}
}

// Read blocks while the master is Silent.
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
