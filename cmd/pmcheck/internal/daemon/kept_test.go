package daemon_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

// While the service manager keeps the port, a balancer that asks between two daemons waits, and is
// answered 200: no daemon answers before it has a verdict.
func TestReplacementBehindAKeptPortIsUnnoticed(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.stop()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	file, err := port.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range 5 {
		c, err := net.Dial("tcp", port.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
		passed, err := net.FileListener(file)
		if err != nil {
			t.Fatal(err)
		}
		r.Daemon = daemon.New(r.config, "test.yaml", "test", slog.New(slog.DiscardHandler))
		r.Ports = []net.Listener{passed}
		r.serve()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("the first answer of a daemon is %s", resp.Status)
		}
		r.stop()
		if _, err := os.Stat(r.config.Socket); err == nil {
			t.Error("the socket is still there")
		}
	}
}
