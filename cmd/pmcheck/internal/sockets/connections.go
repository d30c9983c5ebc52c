// Package sockets reads from the kernel who is connected to the master: the balancers and agents
// that a master which leaves must wait for, and whether anybody uses it.
package sockets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Reuse is how long an agent keeps a connection for its next request: Puppet's
// http_keepalive_timeout, 4 s in all versions since 3. A connection that has been
// idle for longer carries no further request.
const Reuse = 4 * time.Second

// Connection is an established TCP connection to the master.
type Connection struct {
	Local netip.Addr     // the address on this host
	Peer  netip.AddrPort // the other end: a balancer, or an agent
	// Idle is how long neither side has sent anything. While the master works on a
	// request, its connection is idle too.
	Idle time.Duration
	// Accepted is set once the server's process has accepted the connection.
	Accepted bool
}

// Connections returns the established connections to the server that listens on this
// host at address, a host:port. Connections to another program that listens on the
// same port of another address, such as a balancer on a virtual address, are left
// out, unless host is a name other than localhost. Connections needs no privilege.
func Connections(address string) ([]Connection, error) {
	_, port, err := Split(address)
	if err != nil {
		return nil, err
	}
	list, listeners, err := sockets(port)
	if err != nil {
		return nil, err
	}
	return ofServer(list, listeners, address), nil
}

// poll is the time between two looks at a connection that is not accepted yet.
const poll = 20 * time.Millisecond

// Accepts connects to the server that listens on this host at address, a host:port, and
// reports whether its process accepts the connection before ctx ends. A process that is
// stopped, or whose queue is full, does not. The error says why that is not known, for
// example because nothing on this host listens there.
func Accepts(ctx context.Context, address string) (bool, error) {
	host, port, err := Split(address)
	if err != nil {
		return false, err
	}

	conn, err := puppetclient.Dial(ctx, net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil && ctx.Err() != nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer conn.Close()

	if server := conn.RemoteAddr().String(); !IsLocal(server) {
		return false, fmt.Errorf("%s is not an address of this host", server)
	}
	return accepted(ctx, conn, port)
}

// accepted reports whether the process that listens on port accepts conn before ctx ends. It looks once more then: this
// process may have been stalled itself.
func accepted(ctx context.Context, conn net.Conn, port uint16) (bool, error) {
	mine := conn.LocalAddr().(*net.TCPAddr).AddrPort()
	for {
		isLast := ctx.Err() != nil
		list, _, err := sockets(port)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(list, func(c Connection) bool { return c.Peer == mine && c.Accepted }) {
			return true, nil
		}
		if isLast {
			return false, nil
		}

		conn.SetReadDeadline(time.Now().Add(poll))
		n, err := conn.Read(make([]byte, 1))
		if n > 0 || errors.Is(err, io.EOF) {
			return true, nil // the process has begun to speak, or has closed it
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			// The kernel, too, resets a connection: if the queue of a process that is stopped is full, for example.
			return false, fmt.Errorf("not known whether the process accepted: %w", err)
		}
	}
}

// OwnAddresses returns the addresses of this host, without their zones; none if the kernel does
// not tell them.
func OwnAddresses() (own []netip.Addr) {
	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap())
		}
	}
	return own
}

// IsLocal reports whether the host in address, a host:port, is localhost or an address of this host.
func IsLocal(address string) bool {
	host, _, err := Split(address)
	if err != nil {
		return false
	}

	own := OwnAddresses()
	return slices.ContainsFunc(puppetclient.Addresses(host), func(a netip.Addr) bool {
		return a.IsLoopback() || slices.Contains(own, a)
	})
}

// SameListener reports whether a program on this host that listens at listen, whose host may be empty for every
// address, can be reached at address, a host:port. Names are compared as they are written.
func SameListener(address, listen string) bool {
	host, port, err := Split(address)
	if err != nil {
		return false
	}
	where, itsPort, err := Split(listen)
	if err != nil || port != itsPort {
		return false
	}

	at := puppetclient.Addresses(where)
	everywhere := where == "" || slices.ContainsFunc(at, netip.Addr.IsUnspecified)
	if everywhere {
		return IsLocal(address)
	}
	if strings.EqualFold(host, where) {
		return true
	}
	return slices.ContainsFunc(puppetclient.Addresses(host), func(a netip.Addr) bool { return slices.Contains(at, a) })
}

// Split returns the parts of a host:port, which may have http:// before it.
func Split(address string) (host string, port uint16, err error) {
	host, text, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	if err != nil {
		return "", 0, err
	}

	number, err := strconv.ParseUint(text, 10, 16)
	if err == nil && number == 0 {
		err = errors.New("0 is not a port")
	}
	if err != nil {
		return "", 0, fmt.Errorf("port of %s: %w", address, err)
	}
	return host, uint16(number), nil
}

// ofServer removes the connections to other addresses if the server listens at its own alone. Where it listens on all
// addresses, they may all be its; where nothing listens, the server that stops has closed its port first.
func ofServer(list []Connection, listeners Listeners, address string) []Connection {
	server := listeners.At(address)
	listensEverywhere := len(server) > 0 && server[0].Local.Addr().IsUnspecified()
	if len(server) == 0 || listensEverywhere {
		return list
	}

	host, _, _ := Split(address)
	addresses := puppetclient.Addresses(host)
	var its []Connection
	for _, c := range list {
		if slices.Contains(addresses, c.Local) {
			its = append(its, c)
		}
	}
	return its
}
