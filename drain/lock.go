package drain

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Why not rogpeppe/go-internal/lockedfile: its lock blocks without a deadline, so
// one process that stands still would stop every later drain; it opens the file
// with mode 0666 and follows symbolic links, where a lock of root's in a directory
// that others can write must have an exact owner and mode and be no link; and it
// does not notice that the file was replaced between open and lock.

const (
	// lockName is the file in a holds directory that its writers lock. It is not
	// the directory itself: any user who can read that could keep it locked.
	lockName = ".lock"
	// lockPoll is how often a lock that another process has is tried again.
	lockPoll        = time.Millisecond
	defaultLockWait = 5 * time.Second
)

// lock keeps other writers out of every directory that the caller may change,
// waiting up to LockWait. Every process takes the directories in the same order, so
// there is no deadlock. The kernel releases the locks of a process that dies.
func (s *Store) lock() (unlock func(), err error) {
	deadline := time.Now().Add(cmp.Or(s.LockWait, defaultLockWait))
	var held []*os.File
	unlock = func() {
		for _, f := range held {
			f.Close()
		}
	}
	for _, p := range s.places() {
		f, err := lockDir(p.dir, deadline)
		if isNoWriter(err) {
			continue
		}
		if err != nil {
			unlock()
			return nil, writeError("lock", filepath.Join(p.dir, lockName), p.dir, err)
		}
		held = append(held, f)
	}
	return unlock, nil
}

// isNoWriter reports whether err says that the caller cannot create files in the
// directory. The rest goes on without its lock: other directories can be written,
// and where the disk is full holds can be lifted.
func isNoWriter(err error) bool {
	causes := []error{fs.ErrNotExist, unix.EACCES, unix.EROFS, unix.ENOSPC, unix.EDQUOT}
	return slices.ContainsFunc(causes, func(cause error) bool { return errors.Is(err, cause) })
}

// lockDir tries until deadline. It does not block in flock(2), which has no timeout
// and would wait for a file that was replaced meanwhile.
func lockDir(dir string, deadline time.Time) (*os.File, error) {
	for {
		f, err := tryLock(dir)
		if !errors.Is(err, ErrBusy) {
			return f, err
		}
		if time.Now().After(deadline) {
			return nil, ErrBusy
		}
		time.Sleep(lockPoll)
	}
}

// tryLock returns ErrBusy if another process has the lock, or replaces it just now.
func tryLock(dir string) (*os.File, error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return nil, err
	}
	f, err := openLock(dir, &stat)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EEXIST) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && isAt(f, filepath.Join(dir, lockName)) {
		return f, nil
	}
	f.Close()
	if err == nil || err == unix.EWOULDBLOCK || err == unix.EINTR {
		return nil, ErrBusy
	}
	return nil, err
}

// openLock opens the lock of dir and makes it if it is missing. A lock that users
// without write permission can open, or that some writers cannot, is replaced: it
// dates from other permissions of the directory, or is no lock at all. Whether it
// is locked cannot be told then.
func openLock(dir string, dirStat *unix.Stat_t) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	var stat unix.Stat_t
	err := unix.Lstat(path, &stat)
	if err == nil && isGuarded(&stat, dirStat) {
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EACCES) {
			return f, err
		}
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return createLock(path, dirStat)
}

// isGuarded reports whether exactly the users with permission to write the
// directory can open its lock.
func isGuarded(lock, dir *unix.Stat_t) bool {
	if isShared(dir) {
		return lock.Mode == unix.S_IFREG|0o660 && lock.Gid == dir.Gid
	}
	return lock.Mode == unix.S_IFREG|0o600 && lock.Uid == dir.Uid
}

// createLock makes the lock under another name first: under its own it must never
// have wrong permissions. It never replaces one.
func createLock(path string, dir *unix.Stat_t) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), lockName)
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	owner, group, mode := -1, -1, os.FileMode(0o600)
	if os.Geteuid() == 0 {
		owner, group = int(dir.Uid), int(dir.Gid)
	}
	if isShared(dir) {
		group, mode = int(dir.Gid), 0o660
	}
	if err = f.Chown(owner, group); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = os.Link(f.Name(), path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isAt reports whether path names f, which has not been replaced then.
func isAt(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, named)
}
