package tcp_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain/tcp"
)

func TestConnectionsListsThoseOfThePort(t *testing.T) {
	for _, tt := range []struct{ listen, client string }{
		{"127.0.0.1", "127.0.0.1"},
		{"::1", "::1"},
		{"::", "127.0.0.1"}, // as Java listens
	} {
		t.Run(tt.listen, func(t *testing.T) {
			l, err := net.Listen("tcp", net.JoinHostPort(tt.listen, "0"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			server := net.JoinHostPort(tt.client, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
			if got := connections(t, server); len(got) != 0 {
				t.Errorf("%v before the first connection", got)
			}
			client, err := net.Dial("tcp", server)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			accepted, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			own := client.LocalAddr().(*net.TCPAddr).AddrPort()
			got := connections(t, server)
			if len(got) != 1 || got[0].Peer != own {
				t.Fatalf("%v, want the one from %s", got, own)
			}
			if used := tcp.InUse(got, nil, time.Hour); len(used) != 1 {
				t.Errorf("in use: %v", used)
			}
			if used := tcp.InUse(got, []netip.AddrPort{own}, time.Hour); len(used) != 0 {
				t.Errorf("our own connection counts as in use: %v", used)
			}
			// Data resets the idle time.
			io.WriteString(client, "x")
			io.ReadFull(accepted, make([]byte, 1))
			if idle := connections(t, server)[0].Idle; idle > tcp.Reuse {
				t.Errorf("idle for %s right after a byte", idle)
			}
			for end := time.Now().Add(10 * time.Second); connections(t, server)[0].Idle == 0; {
				if time.Now().After(end) {
					t.Fatal("not idle 10 s after the last byte")
				}
			}
			accepted.Close()
			client.Close()
			if got := connections(t, server); len(got) != 0 {
				t.Errorf("%v after both ends were closed", got)
			}
		})
	}
}

// TestServerThatAcceptsNothingIsFound: the kernel completes connections for a server whose
// process is stopped, until its queue is full.
func TestServerThatAcceptsNothingIsFound(t *testing.T) {
	accepts := func(address string, within time.Duration) (bool, error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return tcp.Accepts(ctx, address)
	}
	for _, address := range []string{"127.0.0.1:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		server := fmt.Sprintf("localhost:%d", l.Addr().(*net.TCPAddr).Port)
		if got, err := accepts(server, 100*time.Millisecond); got || err != nil {
			t.Errorf("%s: accepts nothing: %v, %v; want false", address, got, err)
		}
		go func() { // also the connection of before
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
			}
		}()
		if got, err := accepts(server, 10*time.Second); !got || err != nil {
			t.Errorf("%s: accepts: %v, %v; want true", address, got, err)
		}
		other := fmt.Sprintf("192.0.2.1:%d", l.Addr().(*net.TCPAddr).Port)
		if got, err := accepts(other, 50*time.Millisecond); got {
			t.Errorf("%v, %v for the address of another host", got, err)
		}
		l.Close()
		if got, err := accepts(server, time.Second); err == nil {
			t.Errorf("%s: %v for a closed port, want an error", address, got)
		}
	}
}

func connections(t *testing.T, address string) []tcp.Connection {
	t.Helper()
	list, err := tcp.Connections(address)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestConnectionsOfAnotherListenerAreLeftOut: on the master's host, a balancer may
// listen on the same port of another address.
func TestConnectionsOfAnotherListenerAreLeftOut(t *testing.T) {
	master, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	port := master.Addr().(*net.TCPAddr).Port
	balancer, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.9:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer balancer.Close()
	agent := dial(t, master)
	defer func() { // a server that stops closes its port first
		master.Close()
		if got := connections(t, fmt.Sprintf("localhost:%d", port)); !slices.ContainsFunc(got, func(c tcp.Connection) bool {
			return c.Peer == agent
		}) {
			t.Errorf("%v, without the one from %s", got, agent)
		}
	}()
	dial(t, balancer)
	for _, host := range []string{"localhost", "127.0.0.1"} {
		got := connections(t, fmt.Sprintf("%s:%d", host, port))
		if len(got) != 1 || got[0].Peer != agent {
			t.Errorf("%s: %v, want the one from %s", host, got, agent)
		}
	}
	if got := connections(t, fmt.Sprintf("puppet.example.com:%d", port)); len(got) != 2 {
		t.Errorf("by a name: %v, want both", got)
	}
}

// dial opens a connection to a listener and returns the client's end.
func dial(t *testing.T, l net.Listener) netip.AddrPort {
	t.Helper()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); accepted.Close() })
	return client.LocalAddr().(*net.TCPAddr).AddrPort()
}

func TestConnectionIsInUseUntilItWasIdleForLonger(t *testing.T) {
	peer := netip.MustParseAddrPort("198.51.100.1:40000")
	for _, tt := range []struct {
		idle time.Duration
		used bool
	}{{0, true}, {tcp.Reuse, true}, {tcp.Reuse + 1, false}} {
		used := tcp.InUse([]tcp.Connection{{Peer: peer, Idle: tt.idle}}, nil, tcp.Reuse)
		if (len(used) == 1) != tt.used {
			t.Errorf("idle for %s: in use %v, want %v", tt.idle, len(used) == 1, tt.used)
		}
	}
}

func TestAnAddressWithoutAPortIsRefused(t *testing.T) {
	for _, address := range []string{"localhost", "localhost:", "localhost:0", "localhost:65536", "localhost:puppet"} {
		if list, err := tcp.Connections(address); err == nil {
			t.Errorf("%s: %v, want an error", address, list)
		}
		if accepts, err := tcp.Accepts(t.Context(), address); err == nil {
			t.Errorf("%s: %v, want an error", address, accepts)
		}
	}
}
