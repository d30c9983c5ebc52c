package drain

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Store is the two directories of holds. Its methods are safe for concurrent use, also by several processes; the fields
// must not change after the first call, and a Store must not be copied. Each method returns within some seconds,
// although a directory may be on a file system that does not answer: see [ErrHangs].
type Store struct {
	Persistent  string           // the directory whose holds survive a reboot; required
	UntilReboot string           // the directory whose holds end with a reboot; required
	Now         func() time.Time // the wall clock; nil means [time.Now]

	toUntilReboot, toPersistent lane

	lockWait time.Duration    // how long writers wait for another; 0 means 5 s
	limit    time.Duration    // how long an operation may take; 0 means readTime or writeTime
	entered  func(dir string) // for tests: called where an operation on a directory begins
	scanned  func(dir string) // for tests: called after each scan of a directory
}

func (s *Store) dirs() []string { return []string{s.UntilReboot, s.Persistent} }

func (s *Store) clock() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// MakeUntilReboot creates the directory of the holds until reboot if it is missing, for
// a daemon that starts: after a reboot that directory must be empty. It does not create
// the persistent directory, because if that is missing, its holds may be missing too.
// The error is an [*fs.PathError].
func (s *Store) MakeUntilReboot() error { return s.makeDir(s.UntilReboot) }

// makeDir creates dir if it is missing, world-readable whatever the umask: the daemon runs as another
// user than the commands. Its parent must exist: it does wherever pmcheck is installed.
func (s *Store) makeDir(dir string) error {
	return s.change("create", dir, dir, func(context.Context) error {
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			return nil // if it is something else, the next step says so
		}
		if err == nil {
			err = os.Chmod(dir, 0o755)
		}
		return err
	})
}

// lockName is the file that writers lock, in the directory that is empty after a reboot: it is never on
// a full disk. They do not lock the directory itself: any user who can read that could keep it locked.
const lockName = ".lock"

// lock keeps other writers out. It does not block in flock(2),
// which has no timeout: one stopped process would block every later drain.
func (s *Store) lock() (unlock func(), err error) {
	if err := s.makeDir(s.UntilReboot); err != nil {
		return nil, err
	}

	path := filepath.Join(s.UntilReboot, lockName)
	f, err := reach(s, s.UntilReboot, readTime, func(context.Context) (*os.File, error) {
		return os.OpenFile(path, os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	})
	if err != nil {
		return nil, pathError("lock", path, err)
	}

	deadline := time.Now().Add(cmp.Or(s.lockWait, 5*time.Second))
	err = tryLock(f)
	for err == ErrBusy && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
		err = tryLock(f)
	}
	if err != nil {
		f.Close()
		return nil, pathError("lock", path, err)
	}
	return func() { f.Close() }, nil
}

// tryLock locks a file unless another process has locked it, which it reports as ErrBusy.
func tryLock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK || err == syscall.EINTR {
		return ErrBusy
	}
	return err
}
