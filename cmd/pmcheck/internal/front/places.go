package front

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// ownFiles is how many descriptors are reserved for the daemon itself: for probes,
// holds, file watches and the other sockets.
const ownFiles = 64

// Address returns the address of a client in the form that the configuration uses: an
// IPv4-mapped IPv6 address becomes IPv4, and a link-local address loses its zone.
func Address(client netip.AddrPort) netip.Addr { return client.Addr().Unmap().WithZone("") }

// maxPlaces is how many connections a listener may have at most. A health check lasts
// milliseconds, so no pool has the balancers to need as many; it bounds the memory that
// idle and hostile clients take.
const maxPlaces = 1024

// Places returns how many connections each of the listeners may have: maxPlaces, or fewer
// if the limit on descriptors leaves fewer. Without a free descriptor the daemon can
// neither accept a balancer nor read a hold. If the limit does not exceed ownFiles, an
// eighth of it is for clients.
func Places(listeners int) int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return maxPlaces
	}
	return placesOf(listeners, uint64(limit.Cur))
}

func placesOf(listeners int, limit uint64) int {
	left := limit / 8
	if limit > ownFiles {
		left = max(left, limit-ownFiles)
	}
	return int(min(uint64(maxPlaces), max(left/uint64(listeners), 1)))
}
