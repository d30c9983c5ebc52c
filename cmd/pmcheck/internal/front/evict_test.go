package front

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// slots is how many connections a listener of these tests may have.
const slots = 8

// served starts a listener of a server whose answers have the body "served", and returns its port.
func served(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, nil)
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// serve answers "served" on l until the test ends.
func serve(t *testing.T, l net.Listener, refused func(netip.Addr, bool)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	server := &Server{Log: slog.New(slog.DiscardHandler), Places: slots, Refused: refused}
	server.ServeHTTP(ctx, group, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "served")
	}))
	t.Cleanup(func() {
		cancel()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// dial connects from an address of the loopback network, and sends text.
func dial(t *testing.T, from, port, text string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

const slowRequest = "GET / HTTP/1.1\r\nX-Slow: "

// Slow clients that use up all connections, again and again, do not keep a balancer out.
func TestSlowClientsDoNotBlockBalancers(t *testing.T) {
	t.Parallel()
	port := served(t)
	first := dial(t, "127.0.0.1", port, slowRequest)
	for n := range 5 * slots {
		dial(t, "127.0.0.1", port, slowRequest)
		got, err := io.ReadAll(dial(t, "127.0.0.1", port, "OPTIONS / HTTP/1.0\r\n\r\n"))
		if !strings.HasSuffix(string(got), "served") {
			t.Fatalf("%q, %v with %d slow clients", got, err, n+2)
		}
	}
	// The oldest have been evicted.
	first.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := first.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the first of the slow clients is still connected (%v)", err)
	}
}

// Many clients of one address evict each other, not a balancer of another address.
func TestAddressWithTheMostConnectionsIsEvicted(t *testing.T) {
	t.Parallel()
	var evicted atomic.Int64
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, func(client netip.Addr, limit bool) {
		if evicted.Add(1); !limit || client != netip.MustParseAddr("127.0.0.1") {
			t.Errorf("%s is refused, by the limit: %v", client, limit)
		}
	})
	_, port, _ := net.SplitHostPort(l.Addr().String())
	balancer := dial(t, "127.0.0.2", port, "GET / HTTP/1.1\r\n") // the oldest request of all, and not complete
	for range 5 * slots {
		dial(t, "127.0.0.1", port, slowRequest)
	}
	// Once this is answered, the slow clients were accepted, and evicted.
	io.ReadAll(dial(t, "127.0.0.1", port, "OPTIONS / HTTP/1.0\r\n\r\n"))
	io.WriteString(balancer, "Host: x\r\nConnection: close\r\n\r\n")
	got, err := io.ReadAll(balancer)
	if !strings.Contains(string(got), "served") {
		t.Errorf("the balancer got %q, %v", got, err)
	}
	if n := evicted.Load(); n < 4*slots {
		t.Errorf("%d connections were said to be refused, want at least %d", n, 4*slots)
	}
}
