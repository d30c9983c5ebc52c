package tcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// socketID, request and socket have the layout of inet_diag_sockid, inet_diag_req_v2 and
// inet_diag_msg of linux/inet_diag.h. Ports are in network order; of an IPv4 address, the first
// four bytes count.
type (
	socketID struct {
		Port, PeerPort [2]byte
		Addr, Peer     [16]byte
		Interface      uint32
		Cookie         [2]uint32
	}
	request struct {
		Family, Protocol, Extensions, Pad uint8
		States                            uint32 // a bit for each
		ID                                socketID
	}
	socket struct {
		Family, State, Timer, Retransmits            uint8
		ID                                           socketID
		Expires, ReceiveQueue, SendQueue, UID, Inode uint32
	}
)

const (
	established, listening = 1, 10 // TCP's states, of net/tcp_states.h
	tcpInfo                = 2     // the extension INET_DIAG_INFO: struct tcp_info of linux/tcp.h, with
	lastSent, lastReceived = 44, 52
)

// sockets returns the connections to a port of this host that are established
// now, over IPv4 and IPv6, and the addresses on which programs listen there, each with how
// many connections wait to be accepted, as the kernel knows them. It needs no privilege.
func sockets(port uint16) (list []Connection, listeners map[netip.Addr]int, err error) {
	kernel, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("list TCP connections: %w", err)
	}
	defer kernel.Close()
	listeners = map[netip.Addr]int{}
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		messages, err := ask(kernel, family, port)
		if err != nil {
			return nil, nil, fmt.Errorf("list TCP connections: %w", err)
		}
		for _, m := range messages {
			var s socket
			n, err := binary.Decode(m.Data, binary.NativeEndian, &s)
			if err != nil {
				return nil, nil, fmt.Errorf("list TCP connections: %d bytes for a socket", len(m.Data))
			}
			if s.State == listening {
				listeners[addr(s.Family, s.ID.Addr)] += int(s.ReceiveQueue)
				continue
			}
			list = append(list, Connection{
				Local: addr(s.Family, s.ID.Addr),
				Peer:  netip.AddrPortFrom(addr(s.Family, s.ID.Peer), binary.BigEndian.Uint16(s.ID.PeerPort[:])),
				Idle:  idle(m.Data[n:]),
			})
		}
	}
	return list, listeners, nil
}

// ask lists the sockets of a port that listen or are established. The kernel leaves out the
// others: a balancer's checks and agents leave many behind that wait for late segments.
func ask(kernel *netlink.Conn, family uint8, port uint16) ([]netlink.Message, error) {
	r := request{
		Family: family, Protocol: unix.IPPROTO_TCP,
		Extensions: 1 << (tcpInfo - 1), States: 1<<established | 1<<listening,
	}
	binary.BigEndian.PutUint16(r.ID.Port[:], port)
	data, err := binary.Append(nil, binary.NativeEndian, r)
	if err != nil {
		return nil, err
	}
	return kernel.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: netlink.Request | netlink.Dump},
		Data:   data,
	})
}

// idle reads how long neither side of a connection has sent anything; 0 if the kernel did not
// tell.
func idle(attributes []byte) time.Duration {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return 0
	}
	for decoder.Next() {
		if info := decoder.Bytes(); decoder.Type() == tcpInfo && len(info) >= lastReceived+4 {
			sent, received := binary.NativeEndian.Uint32(info[lastSent:]), binary.NativeEndian.Uint32(info[lastReceived:])
			return time.Duration(min(sent, received)) * time.Millisecond
		}
	}
	return 0
}

func addr(family uint8, a [16]byte) netip.Addr {
	if family == unix.AF_INET {
		return netip.AddrFrom4([4]byte(a[:4]))
	}
	return netip.AddrFrom16(a).Unmap()
}
