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
	// ErrBusy means that another writer kept the store locked for 5 s.
	ErrBusy = errors.New("locked by another process")

	errTooLarge = fmt.Errorf("larger than %d bytes", maxFile)
	errWritable = errors.New("other users than its owner can write it")
	errReplaced = errors.New("the directory was replaced; its former holds are not known")
)

// WriteError says which change of the holds directories failed. Err is the plain
// cause, on which a hint can be based: [ErrBusy], or an error of the system that
// [io/fs.ErrPermission] or a [syscall.Errno] matches.
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
	if errno, is := errors.AsType[syscall.Errno](err); is {
		err = errno
	}
	return &WriteError{Op: op, Path: path, Dir: dir, Err: err}
}
