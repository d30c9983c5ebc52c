package drain_test

import (
	"io"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

func TestConnectionsAreThoseOfThePort(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			port := l.Addr().(*net.TCPAddr).AddrPort().Port()
			if got := connections(t, port); len(got) != 0 {
				t.Errorf("%v before the first connection", got)
			}
			client, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			own := client.LocalAddr().(*net.TCPAddr).AddrPort()
			got := connections(t, port)
			if len(got) != 1 || got[0].Peer != own {
				t.Fatalf("%v, want the one from %s", got, own)
			}
			if used := drain.InUse(got, nil, time.Hour); len(used) != 1 {
				t.Errorf("in use: %v", used)
			}
			if used := drain.InUse(got, []netip.AddrPort{own}, time.Hour); len(used) != 0 {
				t.Errorf("our own is in use: %v", used)
			}
			// Data starts the idle time anew.
			io.WriteString(client, "x")
			io.ReadFull(server, make([]byte, 1))
			if idle := connections(t, port)[0].Idle; idle > drain.Reuse {
				t.Errorf("idle for %s right after a byte", idle)
			}
			server.Close()
			client.Close()
			if got := connections(t, port); len(got) != 0 {
				t.Errorf("%v after both ends were closed", got)
			}
		})
	}
}

func connections(t *testing.T, port uint16) []drain.Connection {
	t.Helper()
	list, err := drain.ConnectionsTo(net.JoinHostPort("localhost", strconv.Itoa(int(port))))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestInUse(t *testing.T) {
	peer := netip.MustParseAddrPort("198.51.100.1:40000")
	for _, tt := range []struct {
		idle time.Duration
		used bool
	}{{0, true}, {drain.Reuse, true}, {drain.Reuse + 1, false}} {
		used := drain.InUse([]drain.Connection{{Peer: peer, Idle: tt.idle}}, nil, drain.Reuse)
		if (len(used) == 1) != tt.used {
			t.Errorf("idle for %s: in use %v, want %v", tt.idle, len(used) == 1, tt.used)
		}
	}
}

func TestSettleNeedsTime(t *testing.T) {
	now := time.Now()
	at := func(seconds float64) time.Time { return now.Add(time.Duration(seconds * float64(time.Second))) }
	s := drain.Settle{After: time.Second}
	for _, step := range []struct {
		at    float64
		clear bool
		want  bool
	}{{0, true, false}, {0.9, true, false}, {0.95, false, false}, {1.5, true, false}, {2.4, true, false},
		{2.5, true, true}, {2.6, true, true}, {2.7, false, false}} {
		if got := s.Observe(step.clear, at(step.at)); got != step.want {
			t.Errorf("after %g s: %v, want %v", step.at, got, step.want)
		}
	}
}
