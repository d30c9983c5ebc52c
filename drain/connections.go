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

// ConnectionsTo returns the connections to the port of an address, host:port, of this
// host that are established now, over IPv4 and IPv6, as the kernel knows them. It needs
// no privilege. On other systems than Linux the error wraps [errors.ErrUnsupported].
func ConnectionsTo(address string) ([]Connection, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port of %s: %w", address, err)
	}
	return connections(uint16(number))
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
