package front

import "golang.org/x/sys/unix"

// maxPlaces is how many connections a listener may have at most. A health check lasts
// milliseconds, so no pool has the balancers to need as many; it bounds the memory that
// idle and hostile clients take.
const maxPlaces = 1024

// Places returns how many connections a listener may have: maxPlaces, or an eighth of the
// limit on descriptors if that is less. Without a free descriptor the daemon can neither
// accept a balancer nor read a hold.
func Places() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return maxPlaces
	}
	return placesOf(uint64(limit.Cur))
}

func placesOf(limit uint64) int { return int(max(1, min(maxPlaces, limit/8))) }
