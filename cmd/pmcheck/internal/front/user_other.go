//go:build !linux

package front

import "net"

// user takes every client of a unix socket for the same user.
func user(*net.UnixConn) uint32 { return 0 }
