package agent

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"
)

// guarded returns both ends of a connection behind a guard.
func guarded(t *testing.T) (g *guard, server, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g = newGuard(l, 8, func(netip.AddrPort) bool { return true })
	t.Cleanup(func() { g.Close() })
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if server, err = g.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return g, server, client
}

func TestSweepEndsWhatIsDue(t *testing.T) {
	soon, late := time.Minute, time.Hour
	tests := []struct {
		name        string
		read, write time.Duration // 0 is none
		ended       bool
	}{
		{"no deadline", 0, 0, false},
		{"both later", late, late, false},
		{"read due", soon, 0, true},
		{"write due", 0, soon, true},
		{"one of them due", late, soon, true},
		{"the other due", soon, late, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, server, client := guarded(t)
			at := func(after time.Duration) (at time.Time) {
				if after > 0 {
					at = g.born.Add(after)
				}
				return at
			}
			server.SetReadDeadline(at(tt.read))
			server.SetWriteDeadline(at(tt.write))
			g.sweep(g.born.Add(soon - 1))
			g.sweep(g.born.Add(soon))
			if _, err := io.WriteString(server, "x"); (err != nil) != tt.ended {
				t.Fatalf("write: %v, want it ended %t", err, tt.ended)
			}
			if _, err := client.Read(make([]byte, 1)); (err != nil) != tt.ended {
				t.Errorf("the client's read: %v, want it ended %t", err, tt.ended)
			}
		})
	}
}

func TestSweepLeavesWhatIsNotDueYet(t *testing.T) {
	g, server, _ := guarded(t)
	server.SetReadDeadline(g.born.Add(time.Minute))
	g.sweep(g.born.Add(time.Minute - 1))
	if _, err := io.WriteString(server, "x"); err != nil {
		t.Error(err)
	}
}

func TestDeadlineThatIsTakenBack(t *testing.T) {
	g, server, _ := guarded(t)
	server.SetDeadline(g.born.Add(time.Minute))
	server.SetDeadline(time.Time{})
	g.sweep(g.born.Add(time.Hour))
	if _, err := io.WriteString(server, "x"); err != nil {
		t.Error(err)
	}
}

// net/http interrupts the read that waits behind a request in this way, and
// goes on reading afterwards.
func TestDeadlineInThePastInterruptsAtOnce(t *testing.T) {
	_, server, client := guarded(t)
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
