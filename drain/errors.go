package drain

import (
	"errors"
	"fmt"
	"syscall"
)

// Errors to test for with [errors.Is].
var (
	// ErrNotFound means that there was nothing to lift.
	ErrNotFound = errors.New("no such hold")
	// ErrBusy means that another writer kept the holds directories locked for
	// longer than [Store.LockWait].
	ErrBusy = errors.New("locked by another process")

	errTooLarge      = fmt.Errorf("larger than %d bytes", maxFile)
	errWorldWritable = errors.New("world-writable")
	errReplaced      = errors.New("the directory was replaced; its former holds are not known")
	errTooMany       = fmt.Errorf("more than %d entries", maxEntries)
)

// WriteError says which change of the holds directories failed. Err is the plain
// cause; a hint can be based on
//
//   - [io/fs.ErrPermission]: the caller needs permission to write Dir,
//   - [syscall.EROFS]: Dir is on a read-only file system,
//   - [syscall.ENOSPC] and [syscall.EDQUOT]: the file system or quota is full,
//   - [ErrBusy]: another process has Dir locked.
type WriteError struct {
	Op   string // what was tried: "create", "write", "remove", "lock" or "sync"
	Path string // on which file or directory
	Dir  string // the directory whose permissions and space matter
	Err  error
}

// Error returns what was tried, on which path, and the cause.
func (e *WriteError) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err) }

// Unwrap returns e.Err.
func (e *WriteError) Unwrap() error { return e.Err }

// writeError returns a WriteError whose Err is the system's error number in err, since
// the WriteError already names the path. It returns nil if err is nil.
func writeError(op, path, dir string, err error) error {
	if err == nil {
		return nil
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno
	}
	return &WriteError{Op: op, Path: path, Dir: dir, Err: err}
}
