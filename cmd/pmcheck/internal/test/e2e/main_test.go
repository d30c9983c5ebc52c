package e2e_test

import (
	"flag"
	"io"
	"net"
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

// assertWithin asserts a bound on a time that was measured with lab.Since.
func assertWithin(t *testing.T, what string, took, bound time.Duration) {
	t.Helper()
	t.Logf("measured: %s: %v", what, took.Round(100*time.Microsecond))
	if took > bound {
		t.Errorf("%s took %v, documented is %v at most", what, took, bound)
	}
}

// startEchoAt serves sessions at an address until the test ends.
func startEchoAt(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	lab.Must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.Copy(c, c)
			}()
		}
	}()
}

// A session is a connection of an agent, through HAProxy or to the master itself.
type session struct{ net.Conn }

func startSession(t *testing.T, address string) *session {
	t.Helper()
	c, err := net.Dial("tcp", address)
	lab.Must(t, err)
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
