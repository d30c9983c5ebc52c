package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxRuntimeFile is the largest file that is read back.
const maxRuntimeFile = 1 << 20

// RuntimeDirectory returns the directory that systemd has made for this service and keeps
// over its restarts, or "" if there is none. It belongs to the daemon's user.
func RuntimeDirectory(environ []string) string {
	for _, variable := range environ {
		if dirs, is := strings.CutPrefix(variable, "RUNTIME_DIRECTORY="); is {
			dir, _, _ := strings.Cut(dirs, ":")
			return dir
		}
	}
	return ""
}

// runtimeFile is a file that one daemon leaves for the next. Without a directory, nothing
// is kept.
type runtimeFile struct {
	dir, name string
}

// write replaces the content.
func (r runtimeFile) write(content []byte) error {
	if r.dir == "" {
		return nil
	}
	f, err := os.CreateTemp(r.dir, r.name) // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(r.dir, r.name))
}

// save replaces the content with v as JSON.
func (r runtimeFile) save(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.write(data)
}

// load returns what save has left; the zero value without a directory.
func load[T any](r runtimeFile) (v T, err error) {
	if r.dir == "" {
		return v, nil
	}
	path, err := r.path()
	if err != nil {
		return v, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return *new(T), fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// path returns the path if write could have written the file: a regular file of the
// daemon's own user that no other user can read or write.
func (r runtimeFile) path() (string, error) {
	if r.dir == "" {
		return "", fmt.Errorf("no %s is kept: the service manager has made no directory for it", r.name)
	}
	path := filepath.Join(r.dir, r.name)
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return "", &os.PathError{Op: "read", Path: path, Err: err}
	}
	switch {
	case stat.Mode != unix.S_IFREG|0o600:
		return "", fmt.Errorf("%s is not a regular file of mode 0600", path)
	case int(stat.Uid) != os.Geteuid():
		return "", fmt.Errorf("%s does not belong to the daemon's user", path)
	case stat.Size > maxRuntimeFile:
		return "", fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return path, nil
}
