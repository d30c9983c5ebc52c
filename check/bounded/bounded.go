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

// File returns the content of the regular file that path names or links to, of at most limit bytes. A path to something
// else, such as a FIFO without a writer, is an error at once. The error is an *fs.PathError.
func File(path string, limit int64) ([]byte, error) {
	data, _, err := read(path, 0, limit)
	return data, err
}

// Itself is File for a path that must not be a symbolic link. It also returns the attributes of the file, which are nil
// if the file could not be opened.
func Itself(path string, limit int64) ([]byte, fs.FileInfo, error) {
	data, info, err := read(path, syscall.O_NOFOLLOW, limit)
	if errors.Is(err, syscall.ELOOP) {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("is a symbolic link")}
	}
	return data, info, err
}

func read(path string, flags int, limit int64) ([]byte, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, &fs.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file")}
	}

	tooLarge := &fs.PathError{Op: "read", Path: path, Err: errors.New("is larger than " + size(limit))}
	if info.Size() > limit {
		return nil, info, tooLarge // at once: to read that much takes a second on a busy host
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1)) // the file may grow meanwhile, and /proc tells no size
	if err != nil {
		return nil, info, err
	}
	if int64(len(data)) > limit {
		return nil, info, tooLarge
	}
	return data, info, nil
}

// size returns a number of bytes in words.
func size(bytes int64) string {
	switch {
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
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
