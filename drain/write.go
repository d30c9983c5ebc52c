package drain

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// lockPoll is how often a lock that somebody else has is tried again.
const lockPoll = time.Millisecond

// lock takes the advisory lock of every place that exists, waiting up to wait.
// The places come in the same order for everybody, so nobody waits in a circle.
// A process that dies loses its locks.
func lock(places []place, how int, wait time.Duration) (unlock func(), err error) {
	deadline := time.Now().Add(wait)
	var held []*os.File
	unlock = func() {
		for _, f := range held {
			f.Close()
		}
	}
	for _, p := range places {
		f, err := os.OpenFile(p.dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			held = append(held, f)
			err = flock(f, how, deadline)
		}
		if err != nil {
			unlock()
			return nil, writeError("lock", p.dir, p.dir, err)
		}
	}
	return unlock, nil
}

// flock tries until deadline. It does not wait inside the system call, which
// could not be given up.
func flock(f *os.File, how int, deadline time.Time) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			return err
		}
		if time.Now().After(deadline) {
			return ErrBusy
		}
		time.Sleep(lockPoll)
	}
}

// makeDir creates dir and its parents where they are missing, readable by
// everybody whatever the umask: the daemon is another user than who writes.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(dir) != dir {
		if err := makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o755)
	}
	parent := filepath.Dir(dir)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil // if it is something else, the next step says so
	case err != nil:
		return writeError("create", dir, parent, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return writeError("create", dir, parent, err)
	}
	return syncDir(parent)
}

// writeFile replaces the file name in dir, so that there is either the old or
// the new content at any time, and the new one even after a power failure.
func writeFile(dir, name string, data []byte) error {
	path := filepath.Join(dir, name)
	if err := replace(dir, path, data); err != nil {
		return writeError("write", path, dir, err)
	}
	return syncDir(dir)
}

func replace(dir, path string, data []byte) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o644))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if err := shareGroup(dir, f); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// shareGroup gives f the group of a directory that a group may write, which is
// how a reader knows the member of that group (see Store.trusted).
func shareGroup(dir string, f *renameio.PendingFile) error {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return err
	}
	if stat.Mode&0o020 == 0 {
		return nil
	}
	return f.Chown(-1, int(stat.Gid))
}

// remove removes the files of holds for good and returns those it removed. That
// a file is gone already is fine.
func remove(holds []Hold) (removed []Hold, err error) {
	dirs := make(map[string]bool)
	for _, h := range holds {
		dir := filepath.Dir(h.Path)
		if e := os.Remove(h.Path); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, writeError("remove", h.Path, dir, e))
			continue
		}
		dirs[dir] = true
		removed = append(removed, h)
	}
	for dir := range dirs {
		err = errors.Join(err, syncDir(dir))
	}
	return removed, err
}

// syncDir makes changes of the entries of dir durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err == nil {
		err = f.Sync()
		f.Close()
	}
	return writeError("sync", dir, dir, err)
}

// sweep removes the temporary files of writers that were killed. The caller
// has the lock, so no writer is at work. Failure does no harm: such files are
// never read.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if isTemporary(e.Name()) {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// isTemporary recognises the names that renameio makes: a dot, the file's name
// and a number.
func isTemporary(name string) bool {
	stem := strings.TrimRight(name, "0123456789")
	return strings.HasPrefix(name, ".") && stem != name &&
		(strings.HasSuffix(stem, suffix) || stem == "."+marker)
}
