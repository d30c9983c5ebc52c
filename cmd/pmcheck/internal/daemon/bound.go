package daemon

import (
	"net"
	"net/netip"
	"strconv"
)

// contradicts reports whether a setting names another address than a port is bound
// to: another port, or one host where the port is open on others. A setting without a
// host does not contradict a port on a single address.
func contradicts(configured string, bound netip.AddrPort) bool {
	host, port, err := net.SplitHostPort(configured)
	if err != nil || configured == "" {
		return false
	}
	if port != strconv.Itoa(int(bound.Port())) {
		return true
	}
	if host == "localhost" {
		return !bound.Addr().Unmap().IsLoopback()
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host != "" && bound.Addr().IsUnspecified() // a name stands for less than every address
	}
	return !addr.IsUnspecified() && addr.Unmap() != bound.Addr().Unmap()
}
