// Package front accepts the daemon's clients: it binds listeners, limits how many connections
// there are and how long they take, accepts requests that net/http would refuse, and counts the clients that
// it refuses. It judges which of these look like balancers, by their tries: they have no balancer.Balancer, because
// nothing was answered. What a request is answered is its caller's.
package front

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Bounds on what a client may take. A check is one packet each way.
const (
	requestTime = 10 * time.Second // for the request, and as long again for the answer
	maxHeader   = 8 << 10
	maxAsked    = 512 // of a request that is refused, for Refusal.Asked
	// On shutdown, requests in flight get shutdownTime. Connections that arrive
	// later queue in the kernel for the next daemon.
	shutdownTime = time.Second
)

// Refusal is a client that got no answer, or an answer that says that its request is wrong.
type Refusal struct {
	Client netip.Addr
	By     Reason
	Code   int    // the answer, of ByRequest
	Asked  []byte // the beginning of what the client sent, of ByRequest and BySilence; valid until the call ends
}

// Reason is what a client is refused by.
type Reason string

// The reasons.
const (
	ByAllow   Reason = "allow"   // the client is not allowed, so its connection is closed
	ByLimit   Reason = "limit"   // there are too many connections, and it has the most of them
	ByRequest Reason = "request" // it is answered 400 or 405
	BySilence Reason = "silence" // it has sent no request, or no whole one, so it got no answer
)

// Server serves listeners. The fields must not change after the first call.
type Server struct {
	Log *slog.Logger
	// Places is how many connections each listener may have.
	Places int
	// Allowed reports whether a client may connect; nil means every client.
	Allowed func(client netip.Addr) bool
	// Refused, if set, is called for each client over TCP that is refused. It must not block.
	Refused func(Refusal)
	// Wait, if set, is called before the first connection of a listener is
	// accepted. Meanwhile the kernel queues the clients.
	Wait func(context.Context)
}

// ServeHTTP serves a listener until ctx ends, and then the requests in flight.
// Its goroutines belong to group; a listener that fails ends the group.
func (s *Server) ServeHTTP(ctx context.Context, group *errgroup.Group, l net.Listener, h http.Handler) {
	server := &http.Server{
		Handler:                      h,
		ReadTimeout:                  requestTime, // of a body, too, which no handler reads
		WriteTimeout:                 requestTime,
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true,
		// Resets are common on a health-check port.
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	// A connection gets one answer, as each check has a connection of its own. A client that sends a hundred
	// requests at once would keep the one CPU from the others for as long as it takes to answer all of them.
	server.SetKeepAlivesEnabled(false)

	clients := &crowd{
		Listener: l,
		allowed:  s.Allowed,
		refused:  s.Refused,
		max:      s.Places,
		count:    map[origin]*int{},
	}

	// The listener is closed, and the connections end by themselves. Server.Shutdown would drop a connection whose
	// request it has not read yet.
	context.AfterFunc(ctx, func() { l.Close() })
	group.Go(func() error {
		if s.Wait != nil {
			s.Wait(ctx)
		}
		err := fmt.Errorf("listener %s: %w", l.Addr(), server.Serve(clients))
		if ctx.Err() != nil { // it was closed
			err = nil
		}

		time.AfterFunc(shutdownTime, func() { server.Close() })
		clients.served.Wait()
		return err
	})
}

// Places returns how many connections a listener may have. A health check lasts milliseconds, so no pool has the
// balancers to need 1024; without a free descriptor the daemon can neither accept a balancer nor read a hold, so it is
// an eighth of the limit on descriptors if that is less.
func Places() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return max(1, int(min(1024, limit.Cur/8)))
}
