package systemd

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// RuntimeDirectory returns the directory that systemd has made for this service and keeps
// over its restarts, or "" if there is none. No other user can read or write it.
func RuntimeDirectory() string {
	dir, _, _ := strings.Cut(os.Getenv("RUNTIME_DIRECTORY"), ":")
	return dir
}

// RuntimeFile is a file that a service leaves for its next start, or for another service of
// the same user. Without a directory, nothing is kept.
type RuntimeFile struct {
	Dir  string // empty if nothing is kept
	Name string
}

// Path returns where the file is; "" without a directory.
func (r RuntimeFile) Path() string {
	if r.Dir == "" {
		return ""
	}
	return filepath.Join(r.Dir, r.Name)
}

// Write replaces the content.
func (r RuntimeFile) Write(content []byte) error {
	if r.Dir == "" {
		return nil
	}

	next := filepath.Join(r.Dir, "."+r.Name)
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, r.Path())
}

// Save replaces the content with v as JSON.
func (r RuntimeFile) Save(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.Write(data)
}

// maxRuntimeFile bounds what Load reads: the largest of these files, with the balancers, has some 400 KiB.
const maxRuntimeFile = 1 << 20

// read returns the content of a regular file of maxRuntimeFile bytes at most. It waits for no writer.
func (r RuntimeFile) read() ([]byte, error) {
	f, err := os.OpenFile(r.Path(), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", r.Path())
	}

	data, err := io.ReadAll(io.LimitReader(f, maxRuntimeFile+1))
	if len(data) > maxRuntimeFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", r.Path(), maxRuntimeFile>>20)
	}
	return data, err
}

// Load returns what Save has left; the zero value without a directory.
func Load[T any](r RuntimeFile) (v T, err error) {
	if r.Dir == "" {
		return v, nil
	}

	data, err := r.read()
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return *new(T), fmt.Errorf("%s: %w", r.Path(), err)
	}
	return v, nil
}
