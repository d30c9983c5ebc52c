package front

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// ownFiles is how many descriptors are kept from clients: for probes, holds,
// file watches, the other sockets and the daemon's question to itself.
const ownFiles = 64

// Address is the address of a client as networks in a configuration name it: an
// IPv4 address that arrived as IPv6 is IPv4, and a link-local one has no zone.
func Address(client netip.AddrPort) netip.Addr { return client.Addr().Unmap().WithZone("") }

// Places returns how many connections each of so many listeners may hold: as
// many as are configured, or as the limit of descriptors leaves. Without a free
// descriptor neither a balancer can be accepted nor a hold be read. Under a tiny
// limit an eighth of it is for clients.
func Places(configured, listeners int) int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return configured
	}
	return placesOf(configured, listeners, uint64(limit.Cur))
}

func placesOf(configured, listeners int, limit uint64) int {
	left := limit / 8
	if limit > ownFiles {
		left = max(left, limit-ownFiles)
	}
	return int(min(uint64(configured), max(left/uint64(listeners), 1)))
}
