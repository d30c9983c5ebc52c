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

func TestSocketIsNotTakenFromALivingDaemon(t *testing.T) {
	r := start(t, nil)
	second := daemon.New(r.config, "", "test", slog.New(slog.DiscardHandler))
	if err := second.Listen(context.Background()); err != nil {
		t.Fatal(err) // a free port; the socket is only a warning
	}
	if code, _ := r.askSocket("/live"); code != 200 {
		t.Errorf("the first daemon's socket answers %d", code)
	}
	r.stop()
	if _, err := os.Stat(r.config.Socket); !os.IsNotExist(err) {
		t.Errorf("the socket outlives its daemon: %v", err)
	}
}

func (r *testDaemon) askSocket(path string) (int, error) {
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.config.Socket)
	}}}
	resp, err := client.Get("http://socket" + path)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, nil
}

func TestSocketOfADeadDaemonIsReplaced(t *testing.T) {
	r := start(t, nil)
	r.stop()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: r.config.Socket})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close() // as kill -9 leaves it
	r.run()
	if code, err := r.askSocket("/live"); code != 200 {
		t.Errorf("%d, %v", code, err)
	}
}
