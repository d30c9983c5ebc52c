package daemon_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

// While the service manager keeps the port, the daemon can be replaced without a refused
// connection and without a 503 from a daemon that has no verdict yet.
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

	var asked atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	clients := make(chan error, 4)
	for range cap(clients) {
		go func() { clients <- askUntil(ctx, port.Addr().String(), &asked) }()
	}
	for range 30 {
		passed, err := net.FileListener(file)
		if err != nil {
			t.Fatal(err)
		}
		r.replace(passed, &asked)
	}
	// The last requests are answered here, since no daemon is left.
	last, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	go http.Serve(last, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, answer.Serving+"\n")
	}))
	cancel()
	for range cap(clients) {
		if err := <-clients; err != nil {
			t.Error(err)
		}
	}
	last.Close()
	t.Logf("%d answers from 30 daemons", asked.Load())
}

// replace runs a daemon on a port until it has answered 20 requests.
func (r *testDaemon) replace(port net.Listener, asked *atomic.Int64) {
	r.t.Helper()
	a := daemon.New(r.config, "test.yaml", "test", slog.New(slog.DiscardHandler))
	a.Ports = []net.Listener{port}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := a.Listen(ctx); err != nil {
		r.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx) }()
	enough, deadline := asked.Load()+20, time.Now().Add(20*time.Second)
	for asked.Load() < enough {
		if time.Now().After(deadline) {
			r.t.Fatal("no answers")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		r.t.Error(err)
	}
	if _, err := os.Stat(r.config.Socket); err == nil {
		r.t.Error("the socket is still there")
	}
}

// askUntil asks until ctx ends. It returns an error for any answer but 200.
func askUntil(ctx context.Context, address string, asked *atomic.Int64) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	for ctx.Err() == nil {
		resp, err := client.Get("http://" + address + "/")
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != answer.Serving+"\n" {
			return errors.Join(err, errors.New(resp.Status+" "+string(body)))
		}
		asked.Add(1)
	}
	return nil
}
