package sockets

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// socketID, request and socket have the layout of inet_diag_sockid, inet_diag_req_v2 and
// inet_diag_msg of linux/inet_diag.h; tcpInfo has the layout of the first part of tcp_info of linux/tcp.h.
// Ports are in network order; of an IPv4 address, the first four bytes count; times are
// milliseconds since then.
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
	tcpInfo struct {
		_                                   [44]byte
		LastSent, LastAckSent, LastReceived uint32
	}
)

const (
	// TCP's states, of net/tcp_states.h.
	established = 1
	listening   = 10

	extensionInfo   = 2  // INET_DIAG_INFO, which brings a tcpInfo
	extensionCgroup = 21 // INET_DIAG_CGROUP_ID: Linux 5.8 and later send it unasked
)

// anyPort stands for every port.
const anyPort = 0

// listeners returns the sockets of this host that listen on a port, which may be anyPort. It needs no privilege.
func listeners(port uint16) (list Listeners, err error) {
	messages, err := dump(port, 1<<listening)
	if err == nil {
		_, list, err = parse(messages)
	}
	if err != nil {
		return nil, fmt.Errorf("list TCP listeners: %w", err)
	}
	return list, nil
}

// sockets returns the connections to a port of this host that are established
// now, over IPv4 and IPv6, and the sockets that listen there, as the kernel knows
// them. It needs no privilege.
func sockets(port uint16) (list []Connection, listeners Listeners, err error) {
	messages, err := dump(port, 1<<established|1<<listening)
	if err == nil {
		list, listeners, err = parse(messages)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list TCP connections: %w", err)
	}
	return list, listeners, nil
}

// parse returns what the messages of a dump say: one socket each.
func parse(messages []netlink.Message) (list []Connection, listeners Listeners, err error) {
	for _, m := range messages {
		var s socket
		n, err := binary.Decode(m.Data, binary.NativeEndian, &s)
		if err != nil {
			return nil, nil, fmt.Errorf("a message of %d bytes is too short", len(m.Data))
		}

		local := addr(s.Family, s.ID.Addr)
		switch s.State {
		case listening:
			listeners = append(listeners, Listener{
				ID:      fmt.Sprintf("%d-%d-%d", s.ID.Cookie[0], s.ID.Cookie[1], s.Inode),
				Local:   netip.AddrPortFrom(local, binary.BigEndian.Uint16(s.ID.Port[:])),
				Waiting: int(s.ReceiveQueue),
				Cgroup:  cgroup(m.Data[n:]),
				User:    s.UID,
			})
		case established:
			list = append(list, Connection{
				Local:    local,
				Peer:     netip.AddrPortFrom(addr(s.Family, s.ID.Peer), binary.BigEndian.Uint16(s.ID.PeerPort[:])),
				Idle:     idle(m.Data[n:]),
				Accepted: s.Inode != 0,
			})
		}
	}
	return list, listeners, nil
}

// dump asks for the sockets of a port in these states, a bit for each. The kernel leaves out the
// others, most of them in TIME_WAIT: there can be tens of thousands.
func dump(port uint16, states uint32) (messages []netlink.Message, err error) {
	kernel, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
	if err != nil {
		return nil, err
	}
	defer kernel.Close()

	r := request{
		Protocol:   unix.IPPROTO_TCP,
		Extensions: 1 << (extensionInfo - 1),
		States:     states,
	}
	binary.BigEndian.PutUint16(r.ID.Port[:], port)
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		r.Family = family
		data, err := binary.Append(nil, binary.NativeEndian, r)
		if err != nil {
			return nil, err
		}
		answer, err := kernel.Execute(netlink.Message{
			Header: netlink.Header{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: netlink.Request | netlink.Dump},
			Data:   data,
		})
		if err != nil {
			return nil, err
		}
		messages = append(messages, answer...)
	}
	return messages, nil
}

// idle reads how long neither side of a connection has sent anything: 0, which counts as in use,
// if the kernel does not report it.
func idle(attributes []byte) time.Duration {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return 0
	}

	var info tcpInfo
	for decoder.Next() {
		if decoder.Type() != extensionInfo {
			continue
		}
		if _, err := binary.Decode(decoder.Bytes(), binary.NativeEndian, &info); err != nil {
			return 0
		}
	}
	return time.Duration(min(info.LastSent, info.LastReceived)) * time.Millisecond
}

// cgroup reads the control group of a socket; 0 if the kernel does not report it.
func cgroup(attributes []byte) (id uint64) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return 0
	}
	for decoder.Next() {
		if data := decoder.Bytes(); decoder.Type() == extensionCgroup && len(data) == 8 {
			id = binary.NativeEndian.Uint64(data)
		}
	}
	return id
}

func addr(family uint8, a [16]byte) netip.Addr {
	if family == unix.AF_INET {
		return netip.AddrFrom4([4]byte(a[:4]))
	}
	return netip.AddrFrom16(a).Unmap()
}
