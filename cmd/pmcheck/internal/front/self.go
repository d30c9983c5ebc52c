package front

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Self lets a daemon ask its own port, as a balancer does. The zero value is
// ready to use. Is is safe for concurrent use; Ask is not.
type Self struct {
	own atomic.Pointer[netip.AddrPort]
}

// Is reports whether a client is this daemon's own request. Neither an address filter
// nor TLS should apply to it: the request only tests whether connections are accepted
// and answered.
func (s *Self) Is(client netip.AddrPort) bool {
	own := s.own.Load()
	return own != nil && *own == netip.AddrPortFrom(client.Addr().Unmap(), client.Port())
}

// Ask requests path from the daemon's own listener at address. The error is nil only if
// the answer has the status 200.
func (s *Self) Ask(ctx context.Context, address netip.AddrPort, path string) error {
	defer s.own.Store(nil)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx, address) }
	transport := &http.Transport{DisableKeepAlives: true, DialContext: dial}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pmcheck"+path, nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("own port: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("own port: %s answers %s", path, resp.Status)
	}
	return nil
}

func (s *Self) dial(ctx context.Context, address netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{Control: s.bind}
	ips := []netip.Addr{address.Addr().Unmap()}
	if ips[0].IsUnspecified() {
		// The wildcard of IPv6 nearly always accepts IPv4 as well, and a host
		// without ::1 is more common than one where it does not.
		ips = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	var faults []error
	for _, ip := range ips {
		c, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(ip, address.Port()).String())
		if err == nil {
			return c, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// bind binds the socket of the request before it connects, so that the listener already
// knows its address. No other client can have that address meanwhile.
func (s *Self) bind(_, address string, c syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	var own netip.AddrPort
	var failed error
	err = c.Control(func(fd uintptr) { own, failed = bind(int(fd), target.Addr()) })
	if err = errors.Join(err, failed); err == nil {
		s.own.Store(&own)
	}
	return err
}

// bind binds a socket to a free port of an address.
func bind(fd int, ip netip.Addr) (netip.AddrPort, error) {
	var sa unix.Sockaddr = &unix.SockaddrInet6{Addr: ip.As16()}
	if ip.Is4() {
		sa = &unix.SockaddrInet4{Addr: ip.As4()}
	}
	if err := unix.Bind(fd, sa); err != nil {
		return netip.AddrPort{}, os.NewSyscallError("bind", err)
	}
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, os.NewSyscallError("getsockname", err)
	}
	port := 0
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		port = sa.Port
	case *unix.SockaddrInet6:
		port = sa.Port
	}
	return netip.AddrPortFrom(ip, uint16(port)), nil
}
