//go:build !linux

package drain

import (
	"errors"
	"fmt"
	"net/netip"
)

// sockets needs Linux: its error wraps errors.ErrUnsupported.
func sockets(uint16) ([]Connection, []netip.Addr, error) {
	return nil, nil, fmt.Errorf("list TCP connections: %w", errors.ErrUnsupported)
}

// fileHandle needs Linux: elsewhere a directory is known by its inode number alone.
func fileHandle(int) string { return "" }
