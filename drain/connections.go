package drain

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"
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
