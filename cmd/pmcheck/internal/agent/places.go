package agent

import "golang.org/x/sys/unix"

// ownFiles is how many descriptors are kept from clients: for probes, holds,
// the kernel's watches, the other sockets and our own question.
const ownFiles = 64

// places returns how many connections may be open at a time on each of so many
// listeners: as many as are configured, or as the limit of descriptors leaves. With
// none left, neither a balancer can be accepted nor a hold be read. Under a limit
// that is tiny, an eighth of it is for clients.
func places(configured, listeners int) int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return configured
	}
	return placesOf(configured, listeners, limit.Cur)
}

func placesOf(configured, listeners int, limit uint64) int {
	left := limit / 8
	if limit > ownFiles {
		left = max(left, limit-ownFiles)
	}
	return int(min(uint64(configured), max(left/uint64(listeners), 1)))
}
