//go:build !linux

package tcp

import (
	"errors"
	"fmt"
	"net/netip"
)

// sockets is implemented on Linux only. Here it returns an error that wraps
// errors.ErrUnsupported.
func sockets(uint16) ([]Connection, map[netip.Addr]bool, error) {
	return nil, nil, fmt.Errorf("list TCP connections: %w", errors.ErrUnsupported)
}
