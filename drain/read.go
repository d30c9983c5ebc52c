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

const (
	// maxEntries is how many entries of a directory are read.
	maxEntries = 1000
	// readLockWait bounds how long reading waits for a writer to finish.
	readLockWait = 50 * time.Millisecond
	// marker is the file that says that a host is not new.
	marker = ".initialized"
)

// Read returns what the directories say now. It cannot fail: what cannot be
// read is a hold with the code [Unreadable].
//
// Put moves a hold between the directories by writing one and then removing
// the other, and a reader that looks at them in turn could miss both. So Read
// shares the writers' lock. It does not insist on the lock, or anybody able to
// take it could stop the daemon; without it, it looks a second time where a
// hold may have moved to meanwhile.
func (s *Store) Read() Snapshot {
	taken := s.now()
	places := s.places()
	unlock, err := lock(places, unix.LOCK_SH, readLockWait)
	if err == nil {
		defer unlock()
	} else {
		places = append(places, places[0])
	}
	var holds []Hold
	for _, p := range places {
		found, err := s.scan(p, maxEntries)
		holds = append(holds, found...)
		if err != nil {
			holds = append(holds, directoryHold(p, err))
		}
	}
	if h, ok := s.initialHold(); ok {
		holds = append(holds, h)
	}
	return newSnapshot(taken, holds)
}

// initialHold returns the hold that Initial stands for, if nobody lifted it.
func (s *Store) initialHold() (Hold, bool) {
	path := filepath.Join(s.Persistent, marker)
	if _, err := os.Lstat(path); err == nil || s.Initial == "" || s.Initial == Ready {
		return Hold{}, false
	}
	return Hold{Holder: Initial, Mode: s.Initial, Reason: "new host, never made ready"}, true
}

// directoryHold stands for a directory that gave err.
func directoryHold(p place, err error) Hold {
	fix := "see that it is a directory which the pmcheck daemon can read"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fix = `"pmcheck ready" creates it`
	case errors.Is(err, fs.ErrPermission):
		fix = "let everybody read it: chmod a+rx " + p.dir
	case errors.Is(err, errWorldWritable):
		fix = "chmod o-w " + p.dir
	case errors.Is(err, errTooMany):
		fix = `remove what is not needed, or "pmcheck ready --all"`
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

// scan reads the holds in a directory of up to limit entries, -1 for any
// number. Holds and an error can come together.
func (s *Store) scan(p place, limit int) ([]Hold, error) {
	dir, err := os.OpenFile(p.dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: p.dir, Err: err}
	}
	names, err := list(dir, limit)
	if err != nil {
		return nil, err
	}
	var holds []Hold
	for _, name := range names {
		if !isHold(name) {
			continue
		}
		if h, ok := s.readHold(dir, &stat, name); ok {
			h.UntilReboot = p.untilReboot
			holds = append(holds, h)
		}
	}
	if stat.Mode&0o002 != 0 {
		err = fmt.Errorf("%s: %w", p.dir, errWorldWritable)
	}
	return holds, err
}

// list returns the names in dir.
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

// isHold is the rule for which entries of a directory are holds.
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

// trusted returns an error if the file can be the work of somebody who may not
// write the directory. A file's group is enough to know a member of the
// directory's group: nobody else can give a file to that group.
func (s *Store) trusted(dir, file *unix.Stat_t) error {
	member := dir.Mode&0o020 != 0 && file.Gid == dir.Gid
	if file.Uid != 0 && file.Uid != dir.Uid && !member {
		return fmt.Errorf("owner %s is neither root nor who may write the directory", s.owner(file.Uid))
	}
	if file.Mode&0o002 != 0 {
		return errWorldWritable
	}
	return nil
}

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
