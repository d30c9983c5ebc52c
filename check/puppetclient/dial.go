package puppetclient

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"strings"
)

// Addresses returns the IP addresses of a host for which no resolver is needed: of localhost, and of an IP address. It
// returns none for any other name.
func Addresses(host string) []netip.Addr {
	if strings.EqualFold(host, "localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}
	}
	return nil
}

// Dial connects to address, a host:port, over TCP, as a Client does. The host localhost is not looked up: a host may
// lack it in /etc/hosts, where systemd's nss-myhostname knows it and Go does not.
func Dial(ctx context.Context, address string) (conn net.Conn, err error) {
	var dialer net.Dialer
	host, port, _ := net.SplitHostPort(address)
	if !strings.EqualFold(host, "localhost") {
		return dialer.DialContext(ctx, "tcp", address)
	}

	for _, at := range Addresses(host) {
		var failed error
		conn, failed = dialer.DialContext(ctx, "tcp", net.JoinHostPort(at.String(), port))
		if failed == nil {
			return conn, nil
		}
		err = cmp.Or(err, failed) // a host without IPv6 has no second address
	}
	return nil, err
}
