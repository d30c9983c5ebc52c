package front

import (
	"context"
	"fmt"
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

const slots = 8

const (
	slowRequest = "GET / HTTP/1.1\r\nX-Slow: "
	begun       = "GET / HTTP/1.1\r\n"
	rest        = "Host: x\r\nConnection: close\r\n\r\n"
)

// serve answers body on l until the test ends, or until stop is called.
func serve(t *testing.T, l net.Listener, body string, refused func(Refusal)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	server := &Server{Log: slog.New(slog.DiscardHandler), Places: slots, Refused: refused}
	server.ServeHTTP(ctx, group, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, body)
	}))
	stop = func() {
		cancel()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func wantServed(t *testing.T, c net.Conn) {
	t.Helper()
	if got, err := io.ReadAll(c); !strings.HasSuffix(string(got), "served") {
		t.Errorf("got %q, %v", got, err)
	}
}

// Slow clients that use up all connections, again and again, keep out neither a balancer on their own address nor
// one on another.
func TestSlowClientsDoNotBlockBalancers(t *testing.T) {
	t.Parallel()
	var evicted atomic.Int64
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, "served", func(r Refusal) {
		if r.By == BySilence { // the test ends
			return
		}
		if evicted.Add(1); r.By != ByLimit || r.Client != netip.MustParseAddr("127.0.0.1") {
			t.Errorf("%+v is refused", r)
		}
	})
	dial := func(from, text string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, text)
		return c
	}
	balancer := dial("127.0.0.2", begun) // the oldest request of all, and not complete
	first := dial("127.0.0.1", slowRequest)
	for range 5 * slots {
		dial("127.0.0.1", slowRequest)
		wantServed(t, dial("127.0.0.1", begun+rest)) // so the slow clients were accepted
	}
	io.WriteString(balancer, rest)
	wantServed(t, balancer)
	first.SetReadDeadline(time.Now().Add(requestTime / 2))
	if _, err := first.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the first of the slow clients is still connected (%v)", err)
	}
	if n := evicted.Load(); n < 4*slots {
		t.Errorf("%d connections were said to be refused, want at least %d", n, 4*slots)
	}
}

// TestAnIPv6NetworkIsOneOrigin: whoever has a /64 has as many addresses as he likes, and a HAProxy may have two checks
// under way.
func TestAnIPv6NetworkIsOneOrigin(t *testing.T) {
	l := crowd{max: slots, count: map[origin]*int{}}
	connect := func(address string) (evicted *conn) {
		client := netip.MustParseAddr(address)
		return l.admit(&conn{client: client, origin: originOf(client)})
	}

	connect("2001:db8:1::1")
	connect("2001:db8:1::1")
	for i := range 3 * slots {
		evicted := connect(fmt.Sprintf("2001:db8:2::%x", i))
		if evicted != nil && evicted.client == netip.MustParseAddr("2001:db8:1::1") {
			t.Fatal("the balancer has made room")
		}
	}
}
