package front

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// limited returns both ends of a connection behind a limiter.
func limited(t *testing.T) (g *limiter, server *limitedConn, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g = &limiter{Listener: l, max: 8}
	t.Cleanup(func() { g.Close() })
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	accepted, err := g.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { accepted.Close() })
	return g, accepted.(*hostlessConn).limitedConn, client
}

// A request and its answer have exchangeTime from the request's first byte, and
// idleTime may pass before the next.
func TestConnectionsAreTimedOut(t *testing.T) {
	const long = 3 * idleTime // after which something happens
	pass := func(g *limiter, d time.Duration) {
		for range d / sweepEvery {
			g.sweep()
		}
	}
	note := func(c *limitedConn, state http.ConnState) { noteIdle(&hostlessConn{limitedConn: c}, state) }
	tests := []struct {
		name   string
		before func(c *limitedConn, request func()) // at long
		lives  time.Duration
	}{
		{"sends nothing", nil, exchangeTime},
		{"has been answered", func(c *limitedConn, _ func()) { note(c, http.StateIdle) }, idleTime},
		{"asks again", func(c *limitedConn, request func()) {
			note(c, http.StateIdle)
			request()
		}, exchangeTime},
		{"continues its request", func(c *limitedConn, request func()) {
			note(c, http.StateIdle)
			request()
			pass(c.limiter, exchangeTime-sweepEvery)
			request()
		}, sweepEvery},
		{"is being answered", func(c *limitedConn, _ func()) { note(c, http.StateActive) }, long},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, server, client := limited(t)
			if tt.before != nil {
				server.due.Store(g.in(2 * long)) // not due until then
				pass(g, long)
				tt.before(server, func() {
					if _, err := io.WriteString(client, "x"); err != nil {
						t.Fatal(err)
					}
					if _, err := server.Read(make([]byte, 1)); err != nil {
						t.Fatal(err)
					}
				})
			}
			pass(g, tt.lives)
			if _, err := io.WriteString(server, "x"); err != nil {
				t.Errorf("closed early: %v", err)
			}
			g.sweep()
			if _, err := io.WriteString(server, "x"); err == nil {
				t.Error("open after its time")
			}
			client.Read(make([]byte, 1)) // what was written above
			if _, err := client.Read(make([]byte, 1)); err == nil {
				t.Error("the client still has a connection")
			}
		})
	}
}

// net/http interrupts the read that waits behind a request in this way, and
// goes on reading afterwards.
func TestDeadlineInThePastInterruptsAtOnce(t *testing.T) {
	_, server, client := limited(t)
	interrupted := make(chan error, 1)
	go func() {
		_, err := server.Read(make([]byte, 1))
		interrupted <- err
	}()
	server.SetReadDeadline(time.Unix(1, 0))
	if err := <-interrupted; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("interrupted by %v, want %v", err, os.ErrDeadlineExceeded)
	}
	for _, resumed := range []time.Time{{}, time.Now().Add(time.Minute)} {
		server.SetReadDeadline(time.Unix(1, 0))
		server.SetReadDeadline(resumed)
		if _, err := io.WriteString(client, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Read(make([]byte, 1)); err != nil {
			t.Errorf("a read after %v: %v", resumed, err)
		}
	}
}

// A deadline ends a read without a sweep, and it can be cleared.
func TestDeadlinesNeedNoSweep(t *testing.T) {
	_, server, _ := limited(t)
	server.SetDeadline(time.Now().Add(time.Millisecond))
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v, want %v", err, os.ErrDeadlineExceeded)
	}
	server.SetDeadline(time.Now().Add(-time.Second))
	server.SetDeadline(time.Time{})
	if _, err := io.WriteString(server, "x"); err != nil {
		t.Errorf("write: %v", err)
	}
}
