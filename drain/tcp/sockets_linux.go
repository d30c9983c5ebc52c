package tcp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// sockets returns the connections to a port of this host that are established
// now, over IPv4 and IPv6, and the addresses on which programs listen there, each with how
// many connections wait to be accepted, as the kernel knows them. It needs no privilege.
func sockets(port uint16) (list []Connection, listeners map[netip.Addr]int, err error) {
	listeners = map[netip.Addr]int{}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		all, err := whole(func() ([]*netlink.InetDiagTCPInfoResp, error) { return netlink.SocketDiagTCPInfo(family) })
		if err != nil {
			return nil, nil, fmt.Errorf("list TCP connections: %w", err)
		}
		for _, s := range all {
			socket, tcp := s.InetDiagMsg, s.TCPInfo
			if socket == nil || socket.ID.SourcePort != port {
				continue
			}
			local := addrPort(socket.ID.Source, port).Addr()
			switch {
			case socket.State == netlink.TCP_LISTEN:
				listeners[local] += int(socket.RQueue)
			case socket.State == netlink.TCP_ESTABLISHED && tcp != nil:
				list = append(list, Connection{
					Local: local,
					Peer:  addrPort(socket.ID.Destination, socket.ID.DestinationPort),
					Idle:  time.Duration(min(tcp.Last_data_recv, tcp.Last_data_sent)) * time.Millisecond,
				})
			}
		}
	}
	return list, listeners, nil
}

// whole returns a list that the kernel did not change while it was read: a part would look
// like a master without agents. It tries a few times.
func whole[T any](read func() ([]T, error)) (list []T, err error) {
	for range 5 {
		if list, err = read(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return list, err
}

func addrPort(ip net.IP, port uint16) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), port)
}
