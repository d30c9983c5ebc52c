package drain

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func connections(port uint16) ([]Connection, error) {
	var list []Connection
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		sockets, err := netlink.SocketDiagTCPInfo(family)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("list TCP connections: %w", err)
		}
		for _, s := range sockets {
			socket, tcp := s.InetDiagMsg, s.TCPInfo
			if socket == nil || tcp == nil || socket.ID.SourcePort != port || socket.State != netlink.TCP_ESTABLISHED {
				continue
			}
			list = append(list, Connection{
				Peer: addrPort(socket.ID.Destination, socket.ID.DestinationPort),
				Idle: time.Duration(min(tcp.Last_data_recv, tcp.Last_data_sent)) * time.Millisecond,
			})
		}
	}
	return list, nil
}

func addrPort(ip net.IP, port uint16) netip.AddrPort {
	addr, _ := netip.AddrFromSlice(ip)
	return netip.AddrPortFrom(addr.Unmap(), port)
}

// fileHandle returns what tells a file from a later one with the same inode number;
// empty where the file system has no such thing.
func fileHandle(fd int) string {
	h, _, err := unix.NameToHandleAt(fd, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return ""
	}
	return string(h.Bytes())
}
