package daemon_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

func TestSocketInUseIsNotReplaced(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	second := daemon.New(r.config, "", "test", slog.New(slog.DiscardHandler))
	if err := second.Listen(context.Background()); err != nil {
		t.Fatal(err) // its port is free, and a socket in use is only logged
	}
	r.assertSocketLives()
	r.stop()
	if _, err := os.Stat(r.config.Socket); !os.IsNotExist(err) {
		t.Errorf("the socket outlives its daemon: %v", err)
	}
}

// askSocket requests a path over the unix socket. The caller must close the body.
func (r *testDaemon) askSocket(path string) (*http.Response, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.config.Socket)
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	return client.Get("http://socket" + path)
}

// assertSocketLives requires a daemon behind the unix socket.
func (r *testDaemon) assertSocketLives() {
	r.t.Helper()
	resp, err := r.askSocket("/live")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		r.t.Errorf("the socket answers %s", resp.Status)
	}
}

func TestDeadSocketIsReplaced(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.stop()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: r.config.Socket})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close() // as kill -9 leaves it
	r.run()
	r.assertSocketLives()
}
