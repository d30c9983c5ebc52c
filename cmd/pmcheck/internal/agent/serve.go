package agent

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// guardPort puts patience and the guard before a port.
func (a *Agent) guardPort(ctx context.Context, port net.Listener) *guard {
	c := a.settings.Load()
	l := &patient{Listener: port, wait: func() { a.awaitJudged(ctx, c.Probe.Timeout) }}
	return newGuard(l, a.places(), func(client netip.AddrPort) bool {
		return contains(a.access.Load().allow, client.Addr().Unmap()) || a.isOwn(client)
	})
}

// places is how many connections each listener may have open.
func (a *Agent) places() int {
	return places(a.settings.Load().MaxConnections, len(a.Ports)+len(a.AgentPorts)+len(a.Sockets))
}

// answer serves on a listener until ctx ends, and then those who are connected.
func (a *Agent) answer(ctx context.Context, group *errgroup.Group, g *guard, h *handler) {
	server := &http.Server{
		Handler:                      h,
		ConnState:                    noteIdle, // the guard has the timeouts
		MaxHeaderBytes:               maxHeader,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(debugWriter{a.Log}, "", 0),
	}
	var l net.Listener = g
	if a.tlsServe != nil && !h.trusted {
		l = &tlsListener{l, a.tlsServe, a.isOwn}
	}
	group.Go(func() error { return g.run(ctx) })
	served := make(chan struct{})
	group.Go(func() error {
		defer close(served)
		err := server.Serve(hostless{l})
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("listener %s: %w", g.Addr(), err)
	})
	group.Go(func() error {
		<-ctx.Done()
		// Server.Shutdown would hang up on clients whose request it has not
		// read yet. To them it makes no difference that others will answer soon.
		g.Close()
		<-served
		server.SetKeepAlivesEnabled(false)
		g.awaitEmpty(shutdownTime)
		server.Close() // somebody would not hang up
		return nil
	})
}

// patient is a listener that accepts nobody until wait has returned. Clients
// are kept by the kernel meanwhile, which to them is a slow answer.
type patient struct {
	net.Listener
	wait func()
	once sync.Once
}

// Accept waits once, then returns the next connection.
func (p *patient) Accept() (net.Conn, error) {
	p.once.Do(p.wait)
	return p.Listener.Accept()
}

// awaitJudged returns once there is a verdict to tell, or patience has run out,
// or ctx has. To answer before would be to say 503 of a master that is well,
// for no other reason than that we have just been restarted.
func (a *Agent) awaitJudged(ctx context.Context, patience time.Duration) {
	select {
	case <-a.first:
	case <-time.After(patience):
	case <-ctx.Done():
	}
}

// tlsListener speaks TLS with everybody but ourselves.
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
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok && l.plain(tcp.AddrPort()) {
		return c, nil
	}
	return tls.Server(c, l.config), nil
}
