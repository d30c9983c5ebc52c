// Package front accepts the daemon's clients: it binds listeners, admits clients, times
// them out, and accepts HTTP/1.1 requests without a Host header. It knows nothing about
// Puppet, balancers, or the answers.
package front

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Bounds on what a client may take. A check is one packet each way.
const (
	exchangeTime = 10 * time.Second // for a request and its answer
	idleTime     = 75 * time.Second // from an answer to the next request
	maxHeader    = 8 << 10
	// On shutdown, requests in flight get shutdownTime. Connections that arrive
	// later queue in the kernel for the next daemon.
	shutdownTime = 500 * time.Millisecond
)

// Server serves listeners. The fields must not change after the first call.
type Server struct {
	Log *slog.Logger
	// Places is how many connections each listener may have.
	Places int
	// Allowed reports whether a client may connect to an address of this host; nil
	// means every client.
	Allowed func(client, local netip.AddrPort) bool
	// Wait, if set, is called before the first connection of a listener is
	// accepted. Meanwhile the kernel queues the clients.
	Wait func(context.Context)
}

// limit returns l with a limiter.
func (s *Server) limit(ctx context.Context, l net.Listener) *limiter {
	limited := &limiter{Listener: l, max: s.Places, allowed: s.Allowed}
	limited.mu.Lock()
	limited.timer = time.AfterFunc(sweepEvery, limited.sweep)
	limited.mu.Unlock()
	if s.Wait != nil {
		limited.wait = sync.OnceFunc(func() { s.Wait(ctx) })
	}
	return limited
}

// ServeHTTP serves a listener until ctx ends, and then the requests in flight.
// Its goroutines belong to group; a listener that fails ends the group.
func (s *Server) ServeHTTP(ctx context.Context, group *errgroup.Group, l net.Listener, h http.Handler) {
	limited := s.limit(ctx, l)
	server := &http.Server{
		Handler:                      h,
		ConnState:                    noteIdle, // the limiter has the timeouts
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(debugWriter{s.Log}, "", 0),
	}
	served := make(chan struct{})
	group.Go(func() error {
		defer close(served)
		err := server.Serve(limited)
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("listener %s: %w", l.Addr(), err)
	})
	group.Go(func() error {
		<-ctx.Done()
		// Server.Shutdown would close connections whose request it has not read
		// yet, although the request can still be answered.
		limited.Close()
		<-served
		server.SetKeepAlivesEnabled(false)
		limited.empty()
		return nil
	})
}

// debugWriter logs net/http's messages about single clients at level debug. Resets are
// common on a health-check port.
type debugWriter struct{ log *slog.Logger }

func (w debugWriter) Write(line []byte) (int, error) {
	w.log.Debug("client", "error", string(line))
	return len(line), nil
}
