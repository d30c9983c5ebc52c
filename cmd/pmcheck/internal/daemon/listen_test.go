package daemon_test

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { port.Close() })
	return port.(*net.TCPListener)
}

// With pmcheck.socket, systemd has bound the port, and no other process answers there.
func TestAnInheritedSocketIsServedWhateverListenSays(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.stop()
	for _, tt := range []struct {
		listen string
		warns  bool
	}{{"127.0.0.1:PORT", false}, {":PORT", false}, {"127.0.0.2:PORT", true}, {":1", true}} {
		port := listen(t)
		_, number, _ := net.SplitHostPort(port.Addr().String())
		r.config.Listen = strings.Replace(tt.listen, "PORT", number, 1)
		var log strings.Builder
		d := newDaemon(r.config, daemon.Options{Log: &log, Ports: []net.Listener{port}})
		must(t, d.Listen(t.Context()))
		if warns := strings.Contains(log.String(), "listen has no effect"); warns != tt.warns || d.Address() != port.Addr() {
			t.Errorf("listen %s: warns %v, answers on %s", tt.listen, warns, d.Address())
		}
		d.CloseSocket()
	}
}

// While the service manager keeps the port, a balancer that asks between two daemons waits, and is
// answered 200: no daemon answers before it has a verdict.
func TestReplacementBehindAKeptPortIsUnnoticed(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	file, err := listen(t).File()
	must(t, err)
	defer file.Close()
	for range 3 {
		passed, err := net.FileListener(file)
		must(t, err)
		r.stop()
		c := dial(t, passed.Addr(), "GET / HTTP/1.0\r\n\r\n")
		r.run(passed)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("the first answer of a daemon is %v, %v", resp, err)
		}
	}
}

func TestSlowClientsDoNotDelayShutdown(t *testing.T) {
	r := start(t, nil)
	r.dial("GET / HTTP/1.1\r\nX-Slow: ")
	r.waitFor(200, answer.Serving) // so the slow client was accepted
	began := time.Now()
	r.stop()
	if took := time.Since(began); took > 5*time.Second { // 1 s and a busy machine; the request has 10 s
		t.Errorf("the daemon took %s to end", took)
	}
}

func TestSocketInUseIsNotReplaced(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	second := newDaemon(r.config, daemon.Options{})
	must(t, second.Listen(t.Context())) // its port is free, and a socket in use is only logged
	if _, err := r.client.Status(t.Context()); err != nil {
		t.Error(err)
	}
	r.stop()
	if _, err := os.Stat(r.config.Socket); !os.IsNotExist(err) {
		t.Errorf("the socket outlives its daemon: %v", err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: r.config.Socket})
	must(t, err)
	dead.SetUnlinkOnClose(false)
	dead.Close() // as kill -9 leaves it
	r.run()
	if _, err := r.client.Status(t.Context()); err != nil {
		t.Errorf("behind a dead socket: %v", err)
	}
	r.stop()
	must(t, os.WriteFile(r.config.Socket, []byte("x"), 0o600))
	r.run()
	if text, err := os.ReadFile(r.config.Socket); string(text) != "x" {
		t.Errorf("a file in the place of the socket: %q, %v", text, err)
	}
}
