package front

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// deferAccept has the kernel keep a new connection for so many seconds or until
// the client has spoken.
func deferAccept(c syscall.RawConn, seconds int) error {
	var option error
	err := c.Control(func(fd uintptr) {
		option = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, seconds)
	})
	return errors.Join(err, option)
}
