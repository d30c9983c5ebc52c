package drain

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reuse is how long an agent keeps a connection for its next request: Puppet's
// http_keepalive_timeout, 4 s in all versions since 3. One that has been idle
// for longer carries no further request.
const Reuse = 4 * time.Second

// Connection is an established TCP connection to the master.
type Connection struct {
	Local netip.Addr     // of this host
	Peer  netip.AddrPort // the other end: a balancer, or an agent
	// Idle is how long neither side has sent anything. A request that is being
	// worked on is idle, too.
	Idle time.Duration
}

// Connections returns the connections that are established now to the server at
// an address of this host, host:port. Another program may listen on the same port
// of another address, as a balancer on a virtual address does: connections to it
// are left out, unless host is a name other than localhost. It needs no privilege.
// On other systems than Linux the error wraps [errors.ErrUnsupported].
func Connections(address string) ([]Connection, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port of %s: %w", address, err)
	}
	list, listeners, err := sockets(uint16(number))
	if err != nil {
		return nil, err
	}
	return ofServer(list, listeners, addresses(host)), nil
}

// addresses returns what a host of an address stands for; none if only a
// resolver could tell.
func addresses(host string) []netip.Addr {
	if strings.EqualFold(host, "localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}
	}
	return nil
}

// ofServer leaves out the connections of listeners that do not serve one of the
// addresses. A connection whose listener is gone stays: a server that stops
// closes its port first.
func ofServer(list []Connection, listeners, addresses []netip.Addr) []Connection {
	if len(addresses) == 0 {
		return list
	}
	var servers []netip.Addr
	for _, a := range addresses {
		if l, found := listenerOf(a, listeners); found {
			servers = append(servers, l)
		}
	}
	return slices.DeleteFunc(list, func(c Connection) bool {
		l, found := listenerOf(c.Local, listeners)
		return found && !slices.Contains(servers, l)
	})
}

// listenerOf returns the address of the listener to which the kernel gives
// connections to addr: that of the address itself before those of every address.
func listenerOf(addr netip.Addr, listeners []netip.Addr) (netip.Addr, bool) {
	every := netip.IPv6Unspecified()
	if addr.Is4() && slices.Contains(listeners, netip.IPv4Unspecified()) {
		every = netip.IPv4Unspecified()
	}
	for _, l := range []netip.Addr{addr, every} {
		if slices.Contains(listeners, l) {
			return l, true
		}
	}
	return netip.Addr{}, false
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

// Settle recognizes the moment at which a condition has held for long enough. The
// zero value with After set is ready to use; it is not safe for concurrent use.
type Settle struct {
	After time.Duration
	since time.Time // when the condition began to hold; zero while it does not
}

// Observe takes in whether the condition holds now, and reports whether it has held
// for After.
func (s *Settle) Observe(clear bool, now time.Time) bool {
	switch {
	case !clear:
		s.since = time.Time{}
		return false
	case s.since.IsZero():
		s.since = now
	}
	return now.Sub(s.since) >= s.After
}
