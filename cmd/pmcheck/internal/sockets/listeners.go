package sockets

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// Listener is what the kernel knows of the socket on which a server listens. The process behind
// it may hang, or may have no descriptors left.
type Listener struct {
	// ID belongs to this socket alone until the host boots. A server that is started again, or
	// opens its port again, has another.
	ID string
	// Local is where it listens; an unspecified address stands for all addresses.
	Local netip.AddrPort
	// Waiting counts the connections that the process has not accepted yet.
	Waiting int
	// Cgroup is the id of the control group, of version 2, of the process that opened it; 0 if the kernel does not
	// tell, which Linux does since 5.8.
	Cgroup uint64
	// User is the id of the user who opened it.
	User uint32
}

// Listeners are sockets of this host that listen.
type Listeners []Listener

// AllListeners returns the sockets of this host that listen on a TCP port. It needs no privilege.
func AllListeners() (Listeners, error) { return listeners(anyPort) }

// ListenerAt returns the socket of the server that listens on this host at address, a host:port,
// whose host is localhost or an IP address. It returns an error if there is no such socket, because the server is on
// another host, or more than one socket, because several processes share the port.
func ListenerAt(address string) (Listener, error) {
	host, port, err := Split(address)
	if err != nil {
		return Listener{}, err
	}
	if !IsLocal(address) {
		return Listener{}, fmt.Errorf("%s is not an address of this host", host)
	}
	all, err := listeners(port)
	if err != nil {
		return Listener{}, err
	}

	found := all.At(address)
	if len(found) != 1 {
		return Listener{}, fmt.Errorf("%d sockets of this host listen at %s, not one", len(found), address)
	}
	return found[0], nil
}

// At returns the sockets that get what connects to address, a host:port of this host, as [puppetclient.Dial] does. More
// than one socket may share an address.
func (all Listeners) At(address string) (found Listeners) {
	host, port, err := Split(address)
	if err != nil {
		return nil
	}

	var places []netip.Addr
	for _, own := range puppetclient.Addresses(host) {
		// The kernel prefers a socket with the address itself to a socket for all addresses. A socket for all
		// IPv6 addresses may take IPv4 as well, as Java's does.
		places = append(places, own)
		if own.Is4() {
			places = append(places, netip.IPv4Unspecified())
		}
		places = append(places, netip.IPv6Unspecified())
	}

	for _, place := range places {
		for _, l := range all {
			if l.Local == netip.AddrPortFrom(place, port) {
				found = append(found, l)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// Elsewhere returns the addresses of this host on which programs listen on the port of address, a host:port. It
// returns none if one of them listens at address, too.
func Elsewhere(address string) (open []netip.Addr, err error) {
	host, port, err := Split(address)
	if err != nil {
		return nil, err
	}
	all, err := listeners(port)
	if err != nil {
		return nil, err
	}

	wanted := puppetclient.Addresses(host)
	for _, l := range all {
		at := l.Local.Addr()
		if at.IsUnspecified() || slices.Contains(wanted, at) {
			return nil, nil
		}
		open = append(open, at)
	}
	slices.SortFunc(open, netip.Addr.Compare)
	return slices.Compact(open), nil
}
