package lab

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Delay is a TCP proxy that delivers what it receives half a round trip later, in both directions, as a distant
// network does. It accepts at once: the round trip is that of a request and its answer.
type Delay struct {
	Address string // where it listens

	half atomic.Int64 // of the round trip, in nanoseconds
	to   string
}

// StartDelay starts a proxy to an address of this machine, which ends with the test. It delays nothing until Set.
func StartDelay(tb testing.TB, to string) *Delay {
	tb.Helper()
	listener, err := net.Listen("tcp", Address(tb, "127.0.0.1"))
	Must(tb, err)
	tb.Cleanup(func() { listener.Close() })
	d := &Delay{Address: listener.Addr().String(), to: to}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go d.serve(conn.(*net.TCPConn))
		}
	}()
	return d
}

// Set sets the round trip of what is received from now on.
func (d *Delay) Set(roundTrip time.Duration) { d.half.Store(int64(roundTrip / 2)) }

func (d *Delay) serve(client *net.TCPConn) {
	defer client.Close()
	conn, err := net.Dial("tcp", d.to)
	if err != nil {
		return
	}
	defer conn.Close()
	server := conn.(*net.TCPConn)
	var both sync.WaitGroup
	both.Go(func() { d.deliver(server, client) })
	both.Go(func() { d.deliver(client, server) })
	both.Wait()
	for _, done := range []*net.TCPConn{client, server} {
		_ = done.SetLinger(0) // no socket stays in TIME_WAIT: the kernel would look through thousands
	}
}

// deliver copies from one connection to another until the first ends, and ends the other then.
func (d *Delay) deliver(to, from *net.TCPConn) {
	type part struct {
		bytes []byte // nil at the end
		due   time.Time
	}
	parts := make(chan part, 16)
	go func() {
		defer close(parts)
		for {
			buffer := make([]byte, 4<<10)
			n, err := from.Read(buffer)
			due := time.Now().Add(time.Duration(d.half.Load()))
			if n > 0 {
				parts <- part{buffer[:n], due}
			}
			if err != nil {
				parts <- part{nil, due}
				return
			}
		}
	}()
	for p := range parts {
		time.Sleep(time.Until(p.due))
		if p.bytes == nil {
			_ = to.CloseWrite() // it may be closed
			continue
		}
		_, _ = to.Write(p.bytes) // the reader goes on, until its own connection ends
	}
}
