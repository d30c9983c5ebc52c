package daemon_test

import (
	"context"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// soReusePort is SO_REUSEPORT of socket(7), which package syscall lacks on some
// architectures.
const soReusePort = 15

// A master whose listener is replaced has no closed port. Its kept connections end, which
// makes the daemon probe at once, and it stays in service all the time.
func TestReplacedListenerIsNoOutage(t *testing.T) {
	t.Parallel()
	const replacements = 1000 // of both kinds together
	for _, tt := range []struct {
		name string
		next func(t *testing.T, old net.Listener) net.Listener
	}{
		{"SO_REUSEPORT", func(t *testing.T, old net.Listener) net.Listener { return listenShared(t, old.Addr().String()) }},
		{"socket handed over", handOver},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, func(c *config.Config) { c.Probe.Interval = 5 * time.Millisecond })
			r.master.Set(checktest.Stopped)
			r.waitFor(http.StatusServiceUnavailable, "unhealthy: refused")
			listener := listenShared(t, r.master.Address())
			r.master.Replace(listener)
			r.waitFor(http.StatusOK, answer.Serving)
			since := r.Status(time.Now()).Services[0].ServingSince

			rounds := replacements / 2
			if testing.Short() {
				rounds /= 10
			}
			for range rounds {
				before := r.Status(time.Now()).Probe.Count
				listener = tt.next(t, listener)
				r.master.Replace(listener)
				for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(pollEvery) {
					// The second probe from now on has begun after the replacement.
					if p := r.Status(time.Now()).Probe; p.Count > before+1 && p.Fault == "" {
						break
					}
					if time.Now().After(deadline) {
						t.Fatal("the daemon does not reach the new listener")
					}
				}
			}
			server := r.Status(time.Now()).Services[0]
			if !server.ServingSince.Equal(since) || server.Answer.Code != http.StatusOK {
				t.Errorf("balancers are told %d %q, since %s; want 200 all the time since %s", server.Answer.Code,
					server.Answer.Body, server.ServingSince, since)
			}
		})
	}
}

// listenShared listens on an address on which others that use it may listen too.
func listenShared(t *testing.T, address string) net.Listener {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1) })
		return err
	}}
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// handOver returns another listener with the same socket.
func handOver(t *testing.T, old net.Listener) net.Listener {
	t.Helper()
	file, err := old.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	next, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	return next
}
