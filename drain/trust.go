package drain

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CheckTrusted returns an error unless root may use the directories of s although
// another user named them: each is a directory of holds that root accepted, and
// only root can have put it where it is. A command must call it before it writes or
// removes holds for root in directories that its own configuration does not name.
func (s *Store) CheckTrusted() error {
	for _, p := range s.places() {
		if err := (vouch{root: "/"}).check(p.dir); err != nil {
			return err
		}
	}
	return nil
}

// vouch says which directories are trusted: those of a user below root.
type vouch struct {
	root string
	uid  uint32
}

// check returns an error unless dir has the marker, and both and every parent belong
// to the user. The owner of a parent can replace dir, and so can users with
// permission to write it. A group may write dir itself, to set holds.
func (v vouch) check(dir string) error {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return fmt.Errorf("%q is not a clean absolute path", dir)
	}
	writable := uint32(0o002)
	for at := dir; ; at = filepath.Dir(at) {
		if err := v.owns(at, unix.S_IFDIR, writable); err != nil {
			return err
		}
		if at == v.root || at == "/" {
			break
		}
		writable = 0o022
	}
	err := v.owns(filepath.Join(dir, marker), unix.S_IFREG, 0o022)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was never accepted as a directory of holds: it has no %s", dir, marker)
	}
	return err
}

// owns returns an error unless the file at path is of that type and belongs to the
// user, and others lack these permissions. A symbolic link is of another type.
func (v vouch) owns(path string, want, writable uint32) error {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	mode := uint32(stat.Mode)
	switch {
	case mode&unix.S_IFMT == unix.S_IFLNK:
		return fmt.Errorf("%s is a symbolic link", path)
	case mode&unix.S_IFMT != want:
		return fmt.Errorf("%s is not of the right type: its mode is %o", path, mode)
	case stat.Uid != v.uid:
		return fmt.Errorf("%s belongs to user %d, not to %d", path, stat.Uid, v.uid)
	case mode&writable != 0:
		return fmt.Errorf("%s can be written by others: its mode is %04o", path, mode&0o7777)
	}
	return nil
}
