//go:build !linux

package front

import "syscall"

// deferAccept does nothing: only Linux has TCP_DEFER_ACCEPT, which saves system
// calls and changes no answer.
func deferAccept(syscall.RawConn, int) error { return nil }
