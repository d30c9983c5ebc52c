package checktest

import (
	"net"
	"sync"
)

// gated is a listener whose connections return no data while the master is Silent.
type gated struct {
	net.Listener
	master *Master
}

// Accept implements net.Listener.
func (g gated) Accept() (net.Conn, error) {
	c, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &gatedConn{Conn: c, master: g.master, closed: make(chan struct{})}, nil
}

type gatedConn struct {
	net.Conn
	master *Master
	once   sync.Once
	closed chan struct{}
}

// Read blocks while the master is Silent.
func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.master.mu.Lock()
	gate := c.master.gate
	c.master.mu.Unlock()
	select {
	case <-gate:
	case <-c.closed:
	}
	return n, err
}

// Close also unblocks a Read.
func (c *gatedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
