package sockets_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func listen(t *testing.T, host, port string) (net.Listener, string) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l, strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// connect returns both ends of a connection that l has accepted.
func connect(t *testing.T, l net.Listener, address string) (client, server net.Conn) {
	t.Helper()
	client, err := net.Dial("tcp", address)
	must(t, err)
	t.Cleanup(func() { client.Close() })
	server, err = l.Accept()
	must(t, err)
	t.Cleanup(func() { server.Close() })
	return client, server
}

func connections(t *testing.T, address string) []sockets.Connection {
	t.Helper()
	list, err := sockets.Connections(address)
	must(t, err)
	return list
}

func wantPeers(t *testing.T, address string, clients ...net.Conn) {
	t.Helper()
	list := connections(t, address)
	for _, client := range clients {
		if !slices.ContainsFunc(list, func(c sockets.Connection) bool { return c.Peer == local(client) }) {
			t.Fatalf("%s: %v, want the one from %s", address, list, local(client))
		}
	}
	if len(list) != len(clients) {
		t.Errorf("%s: %v, want %d", address, list, len(clients))
	}
}

func local(c net.Conn) netip.AddrPort { return c.LocalAddr().(*net.TCPAddr).AddrPort() }

func TestConnectionsListsThoseOfThePort(t *testing.T) {
	for _, tt := range []struct{ listen, client string }{
		{"127.0.0.1", "127.0.0.1"},
		{"::1", "::1"},
		{"::", "127.0.0.1"}, // as Java listens
	} {
		t.Run(tt.listen, func(t *testing.T) {
			l, port := listen(t, tt.listen, "0")
			server := net.JoinHostPort(tt.client, port)
			wantPeers(t, server)
			client, accepted := connect(t, l, server)
			wantPeers(t, server, client)
			io.WriteString(client, "x")
			io.ReadFull(accepted, make([]byte, 1))
			if idle := connections(t, server)[0].Idle; idle > sockets.Reuse {
				t.Errorf("idle for %s right after a byte", idle)
			}
			for end := time.Now().Add(10 * time.Second); connections(t, server)[0].Idle == 0; {
				if time.Now().After(end) {
					t.Fatal("not idle 10 s after the last byte")
				}
			}
			accepted.Close()
			client.Close()
			wantPeers(t, server)
		})
	}
}

// The kernel completes connections for a server whose process is stopped, until its queue is full.
func TestServerThatAcceptsNothingIsFound(t *testing.T) {
	accepts := func(address string, within time.Duration) (bool, error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		return sockets.Accepts(ctx, address)
	}
	for _, host := range []string{"127.0.0.1", "::"} {
		l, port := listen(t, host, "0")
		if got, err := accepts("localhost:"+port, 100*time.Millisecond); got || err != nil {
			t.Errorf("%s: accepts nothing: %v, %v; want false", host, got, err)
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
		if got, err := accepts("localhost:"+port, 10*time.Second); !got || err != nil {
			t.Errorf("%s: accepts: %v, %v; want true", host, got, err)
		}
		if got, err := accepts("192.0.2.1:"+port, 50*time.Millisecond); got {
			t.Errorf("%v, %v for the address of another host", got, err)
		}
		l.Close()
		if got, err := accepts("localhost:"+port, time.Second); err == nil {
			t.Errorf("%s: %v for a closed port, want an error", host, got)
		}
	}
}

// On the master's host, a balancer may listen on the same port of another address.
func TestConnectionsOfAnotherListenerAreLeftOut(t *testing.T) {
	master, port := listen(t, "127.0.0.1", "0")
	balancer, _ := listen(t, "127.0.0.9", port)
	agent, _ := connect(t, master, master.Addr().String())
	other, _ := connect(t, balancer, balancer.Addr().String())
	wantPeers(t, "localhost:"+port, agent)
	wantPeers(t, "127.0.0.1:"+port, agent)
	wantPeers(t, "puppet.example.com:"+port, agent, other)
	master.Close() // as a server that stops does first
	wantPeers(t, "localhost:"+port, agent, other)
}

func TestOtherAddressesOfAPortAreFound(t *testing.T) {
	elsewhere := func(address string) string {
		open, err := sockets.Elsewhere(address)
		must(t, err)
		return fmt.Sprint(open)
	}

	_, port := listen(t, "127.0.0.9", "0")
	listen(t, "127.0.0.10", port)
	for host, want := range map[string]string{
		"localhost":          "[127.0.0.9 127.0.0.10]",
		"puppet.example.com": "[127.0.0.9 127.0.0.10]", // is not looked up
		"127.0.0.10":         "[]",                     // it is open
	} {
		if got := elsewhere(host + ":" + port); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}

	l, port := listen(t, "::", "0")
	if got := elsewhere("localhost:" + port); got != "[]" {
		t.Errorf("%s, although a program listens on every address", got)
	}
	l.Close()
	if got := elsewhere("localhost:" + port); got != "[]" {
		t.Errorf("%s, although the port is closed", got)
	}
}

func TestSameListenerIsRecognised(t *testing.T) {
	for _, tt := range []struct {
		address, listen string
		want            bool
	}{
		{"localhost:9200", ":9200", true},
		{"127.0.0.1:9200", "0.0.0.0:9200", true},
		{"[::1]:9200", "[::]:9200", true},
		{"http://localhost:9200", ":9200", true},
		{"localhost:9200", "127.0.0.1:9200", true},
		{"M1.example.com:9200", "m1.example.com:9200", true},
		{"localhost:8140", ":9200", false},
		{"192.0.2.1:9200", ":9200", false}, // of another host
		{"localhost:9200", "192.0.2.1:9200", false},
		{"localhost", ":9200", false},
	} {
		if got := sockets.SameListener(tt.address, tt.listen); got != tt.want {
			t.Errorf("%s, %s: %v", tt.address, tt.listen, got)
		}
	}
}

func TestAnAddressWithoutAPortIsRefused(t *testing.T) {
	for _, address := range []string{"localhost", "localhost:", "localhost:0", "localhost:65536"} {
		if list, err := sockets.Connections(address); err == nil {
			t.Errorf("%s: %v, want an error", address, list)
		}
		if open, err := sockets.Elsewhere(address); err == nil {
			t.Errorf("%s: %v, want an error", address, open)
		}
		if accepts, err := sockets.Accepts(t.Context(), address); err == nil {
			t.Errorf("%s: %v, want an error", address, accepts)
		}
	}
}

// A process that is stopped, or has no descriptors left, leaves its connections in the kernel's queue.
func TestListenerCountsWhatTheServerHasNotAccepted(t *testing.T) {
	for _, tt := range []struct{ listen, client string }{
		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.1", "localhost"},
		{"::1", "::1"},
		{"::", "127.0.0.1"}, // as Java listens
	} {
		t.Run(tt.listen+" at "+tt.client, func(t *testing.T) {
			l, port := listen(t, tt.listen, "0")
			address := net.JoinHostPort(tt.client, port)
			want := func(waiting int) string {
				t.Helper()
				got, err := sockets.ListenerAt("http://" + address)
				must(t, err)
				if got.Waiting != waiting || got.ID == "" {
					t.Errorf("%+v, want %d waiting and an ID", got, waiting)
				}
				return got.ID
			}
			id := want(0)
			for range 2 {
				c, err := net.Dial("tcp", net.JoinHostPort(strings.Replace(tt.client, "localhost", tt.listen, 1), port))
				must(t, err)
				t.Cleanup(func() { c.Close() })
			}
			want(2)
			server, err := l.Accept()
			must(t, err)
			defer server.Close()
			if want(1) != id {
				t.Error("the ID has changed")
			}

			l.Close()
			again, err := net.Listen("tcp", net.JoinHostPort(tt.listen, port))
			must(t, err)
			defer again.Close()
			if want(0) == id {
				t.Error("a server that opens its port again has the ID of the one before")
			}
		})
	}
}

func TestListenerIsKnownOnThisHostAlone(t *testing.T) {
	l, port := listen(t, "127.0.0.1", "0")
	for _, host := range []string{"192.0.2.1", "puppet.example.test", "::1"} {
		if got, err := sockets.ListenerAt(net.JoinHostPort(host, port)); err == nil {
			t.Errorf("%s: %+v", host, got)
		}
	}
	l.Close()
	if got, err := sockets.ListenerAt(net.JoinHostPort("127.0.0.1", port)); err == nil {
		t.Errorf("on a closed port: %+v", got)
	}
}

// The server listens on an address of its own beside another program for the rest, as a balancer on
// the same host does.
func TestListenerIsThatOfTheAddress(t *testing.T) {
	mine, port := listen(t, "127.0.0.2", "0")
	other, _ := listen(t, "127.0.0.3", port)
	for _, l := range []net.Listener{mine, other, other} {
		c, err := net.Dial("tcp", l.Addr().String())
		must(t, err)
		t.Cleanup(func() { c.Close() })
	}
	got, err := sockets.ListenerAt(mine.Addr().String())
	must(t, err)
	if got.Waiting != 1 {
		t.Errorf("%+v, want the one that waits for %s", got, mine.Addr())
	}
}

// TestAListenerOfTheOtherFamilyHidesNothing: a server for all IPv4 addresses leaves the port of ::1 to any user.
func TestAListenerOfTheOtherFamilyHidesNothing(t *testing.T) {
	server, err := net.Listen("tcp4", "0.0.0.0:0")
	must(t, err)
	t.Cleanup(func() { server.Close() })
	port := strconv.Itoa(server.Addr().(*net.TCPAddr).Port)
	listen(t, "::1", port)
	agent, _ := connect(t, server, net.JoinHostPort("127.0.0.2", port))
	wantPeers(t, net.JoinHostPort("localhost", port), agent)
	got, err := sockets.ListenerAt(net.JoinHostPort("localhost", port))
	must(t, err)
	if !got.Local.Addr().Is4() {
		t.Errorf("%+v, want the server's", got)
	}
}

func TestListenersHaveAnOwner(t *testing.T) {
	l, _ := listen(t, "127.0.0.1", "0")
	all, err := sockets.AllListeners()
	must(t, err)
	at := all.At(l.Addr().String())
	if len(at) != 1 || at[0].Local != l.Addr().(*net.TCPAddr).AddrPort() {
		t.Fatalf("%v at %s", at, l.Addr())
	}
	if at[0].Cgroup == 0 {
		t.Logf("%+v has no control group: this Linux is older than 5.8", at[0])
	}
	if int(at[0].User) != os.Geteuid() {
		t.Errorf("%+v, want user %d", at[0], os.Geteuid())
	}
}
