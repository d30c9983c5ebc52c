package front

import (
	"errors"
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
