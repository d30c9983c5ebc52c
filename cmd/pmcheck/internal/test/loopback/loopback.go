// Package loopback reserves addresses for tests that need no privileges: a server
// that stops and starts again on its port, as a Puppet Server does, must find it
// free. Tests that run as root have a network namespace instead: see package lab.
package loopback

import (
	"errors"
	"net"
	"strconv"
	"syscall"
)

// Reserve returns host:port on 127.0.0.1, a port that no other program gets from
// the kernel until release is called. A socket is bound to it and never listens:
// connections are refused, and a server that sets SO_REUSEADDR, as those of Go do,
// may listen on it at any time.
func Reserve() (address string, release func() error, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", nil, err
	}
	syscall.CloseOnExec(fd)
	release = func() error { return syscall.Close(fd) }
	err = errors.Join(
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
	)
	if err != nil {
		return "", nil, errors.Join(err, release())
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return "", nil, errors.Join(err, release())
	}
	port := name.(*syscall.SockaddrInet4).Port
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), release, nil
}
