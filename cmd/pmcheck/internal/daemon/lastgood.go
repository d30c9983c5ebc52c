package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	lastGoodName = "last-good.yaml"
	lastGoodMax  = 1 << 20
)

// LastGood is a copy of the last configuration file that had no mistake, in a
// directory that belongs to the daemon's user. Only the daemon reads it: a command
// of root's must not take settings from a file that the daemon can write.
type LastGood struct {
	dir string
}

// NewLastGood returns the copy in the runtime directory that systemd has made for
// this service. Without one, nothing is kept.
func NewLastGood(environ []string) LastGood {
	for _, variable := range environ {
		if dirs, is := strings.CutPrefix(variable, "RUNTIME_DIRECTORY="); is {
			dir, _, _ := strings.Cut(dirs, ":")
			return LastGood{dir}
		}
	}
	return LastGood{}
}

// Keep replaces the copy.
func (l LastGood) Keep(content []byte) error {
	if l.dir == "" {
		return nil
	}
	f, err := os.CreateTemp(l.dir, lastGoodName) // with mode 0600
	if err == nil {
		defer os.Remove(f.Name())
		_, err = f.Write(content)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(l.dir, lastGoodName))
	}
	if err != nil {
		return fmt.Errorf("keep the configuration: %w", err)
	}
	return nil
}

// File returns the path of the copy, if it is as Keep leaves it: a regular file of
// the daemon's own user that no other user can read or write.
func (l LastGood) File() (string, error) {
	if l.dir == "" {
		return "", errors.New("no last configuration is kept: the service manager has made no directory for it")
	}
	path := filepath.Join(l.dir, lastGoodName)
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return "", &os.PathError{Op: "read", Path: path, Err: err}
	}
	switch {
	case stat.Mode != unix.S_IFREG|0o600:
		return "", fmt.Errorf("%s is not a regular file of mode 0600", path)
	case int(stat.Uid) != os.Geteuid():
		return "", fmt.Errorf("%s does not belong to the daemon's user", path)
	case stat.Size > lastGoodMax:
		return "", fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return path, nil
}

// StartedWithLast notes that the daemon has started with the last good
// configuration, since the current one has mistakes.
func (d *Daemon) StartedWithLast(mistakes error) {
	d.Log.Error("configuration not usable, the last good one is in use; correct the file, then reload", "error", mistakes)
	d.noteConfigError(mistakes)
}

// noteConfigError puts into the status why a newer configuration is not in use.
func (d *Daemon) noteConfigError(err error) {
	status := *d.config.Load()
	status.Error = err.Error()
	d.config.Store(&status)
	d.changes.note()
}
