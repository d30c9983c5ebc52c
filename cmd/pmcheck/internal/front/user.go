package front

import (
	"net"

	"golang.org/x/sys/unix"
)

// user returns the user who has opened a connection of a unix socket, and 0 if the kernel
// does not tell.
func user(c *net.UnixConn) (uid uint32) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = peer.Uid
		}
	})
	return uid
}
