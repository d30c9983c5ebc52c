package front

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// deferAccept makes the kernel hold back a new connection until the client has sent
// data, but at most for the given number of seconds.
func deferAccept(c syscall.RawConn, seconds int) error {
	var option error
	err := c.Control(func(fd uintptr) {
		option = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, seconds)
	})
	return errors.Join(err, option)
}

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
