// Package bounded reads what other processes have written, and takes no more of it than a limit: files, and
// lists in JSON.
package bounded

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// File returns the content of the regular file that path names or links to, of at most most MiB. A path to something
// else, such as a FIFO without a writer, is an error at once. The error is an *fs.PathError.
func File(path string, most int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file")}
	}

	limit := int64(most) << 20
	tooLarge := &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("is larger than %d MiB", most)}
	if info.Size() > limit {
		return nil, tooLarge // at once: to read that much takes a second on a busy host
	}

	data, err := io.ReadAll(io.LimitReader(f, limit+1)) // the file may grow meanwhile, and /proc tells no size
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, tooLarge
	}
	return data, nil
}

// ErrTooMany is wrapped by the error for a list with more items than its limit.
var ErrTooMany = errors.New("too many items")

// List returns the items of a list in JSON, of at most most items. It stops at the first item that is too many: an
// item such as {} can take a hundred times as much memory as JSON.
func List[T any](data []byte, most int) (list []T, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	isNull := token == nil
	if isNull {
		return nil, nil
	}
	if token != json.Delim('[') {
		return nil, errors.New("is not a list")
	}

	list = []T{}
	for decoder.More() {
		if len(list) == most {
			return nil, fmt.Errorf("%w: more than %d", ErrTooMany, most)
		}

		var item T
		if err := decoder.Decode(&item); err != nil {
			return nil, err
		}
		list = append(list, item)
	}

	_, err = decoder.Token() // the end of the list
	return list, err
}
