package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// Bounds on a client that is sent one line.
const (
	lineDeadline = 2 * time.Second // to receive the line and close
	maxSaid      = 1 << 10         // bytes that are read from it
)

// ServeLines sends one line to every client of a listener and closes the connection,
// until ctx ends. The line is the result of line for the client's address. The
// goroutines of ServeLines belong to group.
func (s *Server) ServeLines(ctx context.Context, group *errgroup.Group, l net.Listener, line func(netip.Addr) string) {
	limited := s.limit(ctx, l)
	group.Go(func() error {
		defer context.AfterFunc(ctx, func() { limited.Close() })()
		var clients sync.WaitGroup
		defer clients.Wait()
		defer limited.empty()
		for {
			c, err := limited.Accept()
			switch {
			case err == nil:
				clients.Go(func() { tell(c, line) })
			case ctx.Err() != nil:
				return nil
			case !passing(err):
				return fmt.Errorf("listener %s: %w", limited.Addr(), err)
			default:
				s.Log.Warn("a connection was not accepted", "listener", limited.Addr().String(), "error", err)
				time.Sleep(50 * time.Millisecond) // until other connections release resources
			}
		}
	})
}

// passing reports whether err is temporary, so that the listener can continue.
func passing(err error) bool {
	return slices.ContainsFunc(
		[]error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED},
		func(passing error) bool { return errors.Is(err, passing) })
}

func tell(c net.Conn, line func(netip.Addr) string) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(lineDeadline))
	if _, err := io.WriteString(c, line(source(c))+"\n"); err == nil {
		hangUp(c)
	}
}

// hangUp waits until the client has closed its end. What the client sends, as HAProxy
// does with agent-send, is read and dropped: closing a connection with unread data
// resets it, and the reset may discard the line on its way.
func hangUp(c net.Conn) {
	if limited, ok := c.(*limitedConn); ok {
		if tcp, ok := limited.Conn.(*net.TCPConn); ok {
			tcp.CloseWrite() // if it fails, so does the read
		}
	}
	io.Copy(io.Discard, io.LimitReader(c, maxSaid))
}

// address returns the address of one end of a connection; zero on a unix socket.
func address(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}

// source returns the address of a client; zero on a unix socket.
func source(c net.Conn) netip.Addr { return Address(address(c.RemoteAddr())) }
