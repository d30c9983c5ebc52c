package front

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener in memory, so that a test need not wait for a connection's time to pass.
type pipes struct {
	conns  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}
func (p pipes) Close() error { p.close(); return nil }
func (pipes) Addr() net.Addr { return &net.UnixAddr{} }

// closing tells when a connection is closed for the first time.
type closing struct {
	net.Conn
	at chan<- time.Time
}

func (c *closing) Close() error {
	select {
	case c.at <- time.Now():
	default:
	}
	return c.Conn.Close()
}

func TestConnectionsAreTimedOut(t *testing.T) {
	const whole = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, tt := range []struct {
		name  string
		acts  func(c net.Conn)
		lives time.Duration
	}{
		{"sends nothing", func(net.Conn) {}, requestTime},
		{"sends a byte a second", func(c net.Conn) {
			for io.WriteString(c, slowRequest); ; time.Sleep(time.Second) {
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
			}
		}, requestTime},
		{"announces a body and does not send it", func(c net.Conn) {
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
			io.Copy(io.Discard, c)
		}, requestTime},
		{"asks twice", func(c net.Conn) {
			io.WriteString(c, whole+whole)
			io.Copy(io.Discard, c)
		}, 0},
		{"does not read the answer", func(c net.Conn) { io.WriteString(c, whole) }, requestTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := pipes{conns: make(chan net.Conn)}
				l.closed, l.close = context.WithCancel(t.Context())
				stop := serve(t, l, strings.Repeat("x", 1<<16), nil) // does not fit into a buffer
				client, accepted := net.Pipe()
				ended := make(chan time.Time, 1)
				l.conns <- &closing{Conn: accepted, at: ended}
				began := time.Now()
				var acting sync.WaitGroup
				acting.Go(func() { tt.acts(client) })
				if lived := (<-ended).Sub(began); lived < tt.lives || lived > tt.lives+time.Second {
					t.Errorf("closed after %s, want %s", lived, tt.lives)
				}
				client.Close()
				acting.Wait()
				stop()
			})
		})
	}
}

// Who is connected when the daemon ends is answered, whether its request has arrived or is about to.
func TestShutdownAnswersConnections(t *testing.T) {
	for _, sent := range []int{0, len(begun), len(begun + rest)} {
		synctest.Test(t, func(t *testing.T) {
			l := pipes{conns: make(chan net.Conn)}
			l.closed, l.close = context.WithCancel(t.Context())
			stop := serve(t, l, "served", nil)
			client, accepted := net.Pipe()
			l.conns <- accepted
			request := begun + rest
			io.WriteString(client, request[:sent])
			var ending sync.WaitGroup
			ending.Go(stop)
			synctest.Wait()
			io.WriteString(client, request[sent:])
			wantServed(t, client)
			ending.Wait()
		})
	}
}
