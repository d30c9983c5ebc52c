package systemd

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
// over its restarts, or "" if there is none. It belongs to the service's user.
func RuntimeDirectory(environ []string) string {
	for _, variable := range environ {
		if dirs, is := strings.CutPrefix(variable, "RUNTIME_DIRECTORY="); is {
			dir, _, _ := strings.Cut(dirs, ":")
			return dir
		}
	}
	return ""
}

// RuntimeFile is a file that a service leaves for its next start, or for another service of
// the same user. Without a directory, nothing is kept.
type RuntimeFile struct {
	Dir, Name string
}

// Write replaces the content.
func (r RuntimeFile) Write(content []byte) error {
	if r.Dir == "" {
		return nil
	}
	f, err := os.CreateTemp(r.Dir, r.Name) // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(r.Dir, r.Name))
}

// Save replaces the content with v as JSON.
func (r RuntimeFile) Save(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.Write(data)
}

// Load returns what Save has left; the zero value without a directory.
func Load[T any](r RuntimeFile) (v T, err error) {
	if r.Dir == "" {
		return v, nil
	}
	path, err := r.Path()
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

// Path returns the path if Write could have written the file: a regular file of the
// process's own user that no other user can read or write.
func (r RuntimeFile) Path() (string, error) {
	if r.Dir == "" {
		return "", fmt.Errorf("no %s is kept: the service manager has made no directory for it", r.Name)
	}
	path := filepath.Join(r.Dir, r.Name)
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
