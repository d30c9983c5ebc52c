package drain

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Reuse is how long an agent keeps a connection for its next request: Puppet's
// http_keepalive_timeout, 4 s in all versions since 3. One that has been idle
// for longer carries no further request.
const Reuse = 4 * time.Second

// Connection is an established TCP connection to the master.
type Connection struct {
	Peer netip.AddrPort // the other end: a balancer, or an agent
	// Idle is how long neither side has sent anything. A request that is being
	// worked on is idle, too.
	Idle time.Duration
}

// Connections returns the connections to a port of this host that are
// established now, over IPv4 and IPv6, as the kernel knows them. It needs no
// privilege.
func Connections(port uint16) ([]Connection, error) {
	var list []Connection
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		sockets, err := netlink.SocketDiagTCPInfo(family)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("list TCP connections: %w", err)
		}
		for _, s := range sockets {
			if s.InetDiagMsg == nil || s.TCPInfo == nil || s.InetDiagMsg.ID.SourcePort != port || s.InetDiagMsg.State != netlink.TCP_ESTABLISHED {
				continue
			}
			list = append(list, Connection{
				Peer: addrPort(s.InetDiagMsg.ID.Destination, s.InetDiagMsg.ID.DestinationPort),
				Idle: time.Duration(min(s.TCPInfo.Last_data_recv, s.TCPInfo.Last_data_sent)) * time.Millisecond,
			})
		}
	}
	return list, nil
}

// ConnectionsTo is Connections for the port of an address, host:port.
func ConnectionsTo(address string) ([]Connection, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port of %s: %w", address, err)
	}
	return Connections(uint16(number))
}

func addrPort(ip net.IP, port uint16) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), port)
}

// InUse returns the connections that may carry another request: not those from
// own, pmcheck's own ends, and not those that have been idle for longer than
// idle.
func InUse(list []Connection, own []netip.AddrPort, idle time.Duration) []Connection {
	var used []Connection
	for _, c := range list {
		if c.Idle <= idle && !slices.Contains(own, c.Peer) {
			used = append(used, c)
		}
	}
	return used
}
