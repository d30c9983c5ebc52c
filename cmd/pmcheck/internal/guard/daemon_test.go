package guard_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/guard"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
)

// settings returns those of a master without holds.
func settings(t *testing.T) config.Config {
	t.Helper()
	c := config.Default()
	c.HoldsIn = t.TempDir()
	if _, err := c.Store().LiftAll(); err != nil { // it makes the directories
		t.Fatal(err)
	}
	c.Socket = filepath.Join(t.TempDir(), "s")
	c.Probe.Address = "192.0.2.1:8140" // no connection of this host
	return c
}

// newGuard returns a guard that asks a daemon in this process, which answers with status; nil
// makes it hang. Without sockets, the clock of synctest runs.
func newGuard(t *testing.T, c config.Config, out io.Writer, status func() *api.Status) *guard.Guard {
	t.Helper()
	l := pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		took := 10 * time.Millisecond
		if r.URL.RawQuery != "" { // it waits for news
			took = 100 * time.Millisecond
		}
		select {
		case <-r.Context().Done():
		case <-time.After(took):
		}
		if s := status(); s != nil {
			_ = json.NewEncoder(w).Encode(s)
			return
		}
		<-r.Context().Done()
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	g := guard.New("puppetserver", c, out, render.NewProgress(out))
	g.Dial(l.dial)
	return g
}

// pipes is a listener of connections in this process.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p pipes) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.accepted <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p pipes) Close() error {
	close(p.closed)
	return nil
}

// Addr implements net.Listener.
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Net: "pipe"} }
