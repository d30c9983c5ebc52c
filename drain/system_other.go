//go:build !linux

package drain

import (
	"context"
	"errors"
	"fmt"
)

// followUnseen is implemented on Linux only. Here it returns an error that wraps
// errors.ErrUnsupported.
func followUnseen(context.Context, func()) error {
	return fmt.Errorf("watch mounts and the clock: %w", errors.ErrUnsupported)
}

// fileHandle is implemented on Linux only. Elsewhere a directory is identified by
// its inode number alone.
func fileHandle(int) string { return "" }
