//go:build linux

package e2e_test

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "4"); err != nil { // most of them wait; -parallel overrules it
		panic(err)
	}
	lab.Main(m)
}

// slack is what HAProxy, the kernel and the test itself may add to a documented
// bound.
const slack = 250 * time.Millisecond

// measured logs a figure in the way doc.go describes.
func measured(t *testing.T, what string, figure any) {
	t.Helper()
	if d, ok := figure.(time.Duration); ok {
		figure = fmt.Sprintf("%d ms", d.Milliseconds())
		if d < 10*time.Millisecond {
			figure = fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1e3)
		}
	}
	t.Logf("measured: %s: %v", what, figure)
}

// assertWithin asserts a bound on a time that was measured with lab.Since.
func assertWithin(t *testing.T, what string, took, bound time.Duration) {
	t.Helper()
	measured(t, what, took)
	if took > bound {
		t.Errorf("%s took %v, documented is %v at most", what, took, bound)
	}
}

// long reports whether PMCHECK_LONG asks for the cases that take minutes.
func long() bool { return os.Getenv("PMCHECK_LONG") != "" }

// trials returns how often a process is stopped.
func trials() int {
	if long() {
		return 20
	}
	return 1
}

// everything reports whether to do what needs more than make integration installs. make test-all sets
// E2E_ALL.
func everything() bool { return os.Getenv("E2E_ALL") != "" || long() }

// tcpDefaults is the section that each HAProxy of these tests needs.
const tcpDefaults = `
defaults
    mode tcp
    timeout connect 1s
    timeout check 2s
    timeout client 5m
    timeout server 5m
`

// A neighbour stands for another master's pmcheck.
type neighbour struct {
	*httptest.Server
	down atomic.Bool
}

func startNeighbour(t *testing.T) *neighbour {
	t.Helper()
	n := &neighbour{}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *neighbour) address() string { return n.Listener.Addr().String() }

// serve has each connection served until the test ends.
func serve(t *testing.T, l net.Listener, one func(net.Conn)) {
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				one(c)
			}()
		}
	}()
}

func startEchoAt(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, func(c net.Conn) { io.Copy(c, c) })
	return address
}

// A session is a connection of an agent, through HAProxy or to the master itself.
type session struct{ net.Conn }

func startSession(t *testing.T, address string) *session {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &session{c}
}

// carries reports whether the session carries bytes there and back.
func (s *session) carries() bool {
	const bytes = "catalog"
	s.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(s, bytes); err != nil {
		return false
	}
	back := make([]byte, len(bytes))
	_, err := io.ReadFull(s, back)
	return err == nil && string(back) == bytes
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
