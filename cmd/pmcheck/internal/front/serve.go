package front

import (
	"context"
	"crypto/tls"
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
	// Places is how many connections each listener may hold.
	Places int
	// Allowed reports whether a client may connect to an address of this host; nil
	// means every client.
	Allowed func(client, local netip.AddrPort) bool
	// Wait, if set, is called before the first connection of a listener is
	// accepted. Clients are queued by the kernel meanwhile.
	Wait func(context.Context)
	// TLS, if set, is what HTTP listeners speak, except with clients that Plain
	// reports.
	TLS   *tls.Config
	Plain func(netip.AddrPort) bool
}

func (s *Server) limit(ctx context.Context, l net.Listener) *limiter {
	if s.Wait != nil {
		l = &waiting{Listener: l, wait: func() { s.Wait(ctx) }}
	}
	allowed := s.Allowed
	if allowed == nil {
		allowed = func(netip.AddrPort, netip.AddrPort) bool { return true }
	}
	return newLimiter(l, s.Places, allowed)
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
	var spoken net.Listener = limited
	if s.TLS != nil {
		spoken = &tlsListener{limited, s.TLS, s.Plain}
	}
	group.Go(func() error { return limited.run(ctx) })
	served := make(chan struct{})
	group.Go(func() error {
		defer close(served)
		err := server.Serve(hostless{spoken})
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
		limited.waitForEmpty(shutdownTime)
		server.Close()
		return nil
	})
}

// waiting is a listener that accepts no connection until wait has returned.
type waiting struct {
	net.Listener
	wait func()
	once sync.Once
}

// Accept waits once, then returns the next connection.
func (w *waiting) Accept() (net.Conn, error) {
	w.once.Do(w.wait)
	return w.Listener.Accept()
}

// tlsListener speaks TLS with every client that plain does not report.
type tlsListener struct {
	net.Listener
	config *tls.Config
	plain  func(netip.AddrPort) bool
}

// Accept returns the next connection. The handshake comes with the first read.
func (l *tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok && l.plain != nil && l.plain(tcp.AddrPort()) {
		return c, nil
	}
	return tls.Server(c, l.config), nil
}

// debugWriter logs at debug what net/http says of single clients. Resets and
// broken handshakes are daily life on a health-check port.
type debugWriter struct{ log *slog.Logger }

func (w debugWriter) Write(line []byte) (int, error) {
	w.log.Debug("client", "error", string(line))
	return len(line), nil
}
