package drain

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Errors to test for with [errors.Is].
var (
	// ErrBusy means that another writer kept the store locked for 5 s.
	ErrBusy = errors.New("locked by another process")

	errTooLarge = fmt.Errorf("larger than %d bytes", maxFile)
	errWritable = errors.New("other users than its owner can write it")
	errReplaced = errors.New("the directory was replaced; its former holds are not known")
)

// pathError says which change of the holds directories failed: op is create, write, remove, lock or sync. Its
// cause is the system's error number in err, since the path is named already. It returns nil if err is nil.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if errno, is := errors.AsType[syscall.Errno](err); is {
		err = errno
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
