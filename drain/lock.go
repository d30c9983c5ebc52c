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

// Why not rogpeppe/go-internal/lockedfile: its lock blocks without a deadline, so one
// stopped process would block every later drain; it opens the file with mode 0666 and
// follows symbolic links, whereas root's lock in a directory that others can write must
// have an exact owner and mode and must not be a link; and it does not notice that the
// file was replaced between open and lock.

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

// isNoWriter reports whether err means that the caller cannot create files in the
// directory. Then the operation continues without its lock: other directories may be
// writable, and on a full disk holds can still be lifted.
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

// tryLock returns ErrBusy if another process has the lock, or is just replacing it.
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

// openLock opens the lock of dir, and creates it if it is missing. A lock that users
// without write permission can open, or that some writers cannot open, is replaced: the
// directory had other permissions when it was created, or it is not a lock at all. It is
// replaced even if it is locked.
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

// createLock creates the lock under a temporary name first, so that under its own name
// it never has wrong permissions. It never replaces a lock.
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

// isAt reports whether path still names f.
func isAt(f *os.File, path string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(opened, named)
}
