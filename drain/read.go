package drain

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxEntries is how many entries of a directory are read.
const maxEntries = 1000

// Read returns the holds that are in the directories now. It cannot fail: what cannot
// be read is a hold with the code [Unreadable]. It never waits for a writer.
func (s *Store) Read() Snapshot {
	snap, _ := s.read(nil, func(view) error { return nil })
	return snap
}

// read is Read with a check of each directory: an error of recognize is a reason not to
// trust the directory. It takes the views of the read before, and returns its own.
func (s *Store) read(last []view, recognize func(view) error) (Snapshot, []view) {
	taken := s.now()
	views, holds := s.look(last)
	for _, v := range views {
		for _, err := range []error{v.err, recognize(v)} {
			if err != nil {
				holds = append(holds, directoryHold(v.place, err))
			}
		}
	}
	return newSnapshot(taken, holds), views
}

// directoryHold returns the hold that stands for a directory with the problem err.
func directoryHold(p place, err error) Hold {
	fix := "make sure that it is a directory which the pmcheck daemon can read"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fix = `"pmcheck ready" creates it, then "systemctl reload pmcheck" accepts it`
	case errors.Is(err, fs.ErrPermission):
		fix = "make it readable: chmod a+rx " + p.dir
	case errors.Is(err, errWorldWritable):
		fix = "chmod o-w " + p.dir
	case errors.Is(err, errReplaced):
		fix = `"systemctl reload pmcheck" accepts it as it is`
	case errors.Is(err, errTooMany):
		fix = `remove the files that are not holds; "pmcheck ready --all" lifts the holds`
	}
	return Hold{
		Holder:      Directory,
		Mode:        Maint,
		UntilReboot: p.untilReboot,
		Path:        p.dir,
		Code:        Unreadable,
		Error:       fmt.Sprintf("%v; %s", err, fix),
	}
}

// scan reads the holds in a directory of up to limit entries, -1 for any number. The
// view can have both holds and an error.
func (s *Store) scan(p place, limit int) view {
	v := view{place: p}
	dir, err := os.OpenFile(p.dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		v.err = err
		return v
	}
	defer dir.Close()
	fd := int(dir.Fd())
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		v.err = &fs.PathError{Op: "stat", Path: p.dir, Err: err}
		return v
	}
	v.id, v.changed = identity{uint64(stat.Dev), stat.Ino, fileHandle(fd)}, stat.Mtim
	names, err := list(dir, limit)
	if err != nil {
		v.err = err
		return v
	}
	for _, name := range names {
		if !isHold(name) {
			continue
		}
		if h, ok := s.readHold(dir, &stat, name); ok {
			h.UntilReboot = p.untilReboot
			v.holds = append(v.holds, h)
		}
	}
	if stat.Mode&0o002 != 0 {
		v.err = fmt.Errorf("%s: %w", p.dir, errWorldWritable)
	}
	return v
}

func list(dir *os.File, limit int) ([]string, error) {
	if limit < 0 {
		return dir.Readdirnames(-1)
	}
	names, err := dir.Readdirnames(limit + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(names) > limit {
		return nil, fmt.Errorf("%s: %w", dir.Name(), errTooMany)
	}
	return names, nil
}

// isHold reports whether an entry with this name is a hold.
func isHold(name string) bool {
	return strings.HasSuffix(name, suffix) && !strings.HasPrefix(name, ".")
}

// readHold reads one entry of dir. It returns false if the entry is gone.
func (s *Store) readHold(dir *os.File, dirStat *unix.Stat_t, name string) (Hold, bool) {
	data, stat, err := readRegular(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Hold{}, false
	}
	holder, service, nameErr := splitName(name)
	var h Hold
	if err = errors.Join(nameErr, err); err == nil {
		err = s.trusted(dirStat, stat)
	}
	if err == nil {
		h, err = Parse(data)
	}
	if err != nil {
		h = Hold{Mode: Maint, Code: Unreadable, Error: oneLine(err.Error())}
	}
	h.Holder, h.Service, h.Path = holder, service, filepath.Join(dir.Name(), name)
	if stat != nil {
		h.Owner = s.owner(stat.Uid)
		if h.Since.IsZero() {
			h.Since = time.Unix(stat.Mtim.Unix()).UTC()
		}
	}
	return h, true
}

// trusted returns an error if a user without permission to write the directory can
// have made the file. A file with the directory's group comes from a member of that
// group: other users cannot give a file to it.
func (s *Store) trusted(dir, file *unix.Stat_t) error {
	member := isShared(dir) && file.Gid == dir.Gid
	if file.Uid != 0 && file.Uid != dir.Uid && !member {
		return fmt.Errorf("owner %s is neither root nor a user with permission to write the directory", s.owner(file.Uid))
	}
	if file.Mode&0o002 != 0 {
		return errWorldWritable
	}
	return nil
}

// isShared reports whether the group of the directory may write it.
func isShared(dir *unix.Stat_t) bool { return dir.Mode&0o020 != 0 }

// readRegular reads the regular file name in dir, of up to maxFile bytes. It
// neither follows a symbolic link nor waits for the other end of a FIFO. The
// file's attributes are nil if it could not be opened.
func readRegular(dir *os.File, name string) ([]byte, *unix.Stat_t, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == unix.ELOOP {
		return nil, nil, errors.New("is a symbolic link")
	}
	if err != nil {
		return nil, nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	stat := new(unix.Stat_t)
	switch err := unix.Fstat(fd, stat); {
	case err != nil:
		return nil, nil, err
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, stat, errors.New("not a regular file")
	case stat.Size > maxFile:
		return nil, stat, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return data, stat, err
}
