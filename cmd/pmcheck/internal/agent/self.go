package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Live asks the agent over its own port, as a balancer does, whether the probe
// loop turns. The error is nil only if the answer came and was yes. One call at
// a time. Neither allow nor TLS applies to it: what it is about is whether
// connections are accepted and answered.
func (a *Agent) Live(ctx context.Context) error {
	defer a.own.Store(nil)
	transport := &http.Transport{DisableKeepAlives: true, DialContext: a.dialOwn}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pmcheck/live", nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("own port: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("own port: /live answers %s", resp.Status)
	}
	return nil
}

// dialOwn connects to our own port.
func (a *Agent) dialOwn(ctx context.Context, _, _ string) (net.Conn, error) {
	dialer := net.Dialer{Control: a.bindOwn}
	address := a.Address().(*net.TCPAddr).AddrPort()
	ips := []netip.Addr{address.Addr().Unmap()}
	if ips[0].IsUnspecified() {
		// The wildcard of IPv6 nearly always takes IPv4 as well, and a host
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

// bindOwn gives the socket of our question its address before it connects, so
// that the port knows it by then. Nobody else can have that address meanwhile.
func (a *Agent) bindOwn(_, address string, c syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	var own netip.AddrPort
	var failed error
	err = errors.Join(c.Control(func(fd uintptr) { own, failed = bind(int(fd), target.Addr()) }), failed)
	if err == nil {
		a.own.Store(&own)
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

func (a *Agent) isOwn(client netip.AddrPort) bool {
	own := a.own.Load()
	return own != nil && *own == netip.AddrPortFrom(client.Addr().Unmap(), client.Port())
}
