package drain

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// MakeUntilReboot creates the directory of the holds until reboot if it is missing, for
// a daemon that starts: after a reboot that directory must be empty. It does not create
// the persistent directory, because if that is missing, its holds may be missing too.
// The error is a [*WriteError].
func (s *Store) MakeUntilReboot() error { return makeDir(s.UntilReboot) }

// makeDir creates dir if it is missing, world-readable whatever the umask: the daemon runs as another user
// than the commands. Its parent must exist: it does wherever pmcheck is installed.
func makeDir(dir string) error {
	parent := filepath.Dir(dir)
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil // if it is something else, the next step says so
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
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

// replace writes the file. If the group of dir may write it, the file gets that group,
// by which a reader recognizes the writer as a member of it (see Store.trusted).
func replace(dir, path string, data []byte) error {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return err
	}
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(0o644))
	if err != nil {
		return err
	}
	defer f.Cleanup()
	if isShared(&stat) {
		err = f.Chown(-1, int(stat.Gid))
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// remove durably removes the files of holds. It returns the holds that it removed and
// those whose files were already gone.
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

// isTemporary reports whether name is that of a temporary file of renameio (a dot, the
// file's name and a number), or of a lock that is being created.
func isTemporary(name string) bool {
	stem := strings.TrimRight(name, "0123456789")
	return strings.HasPrefix(name, ".") && stem != name &&
		(strings.HasSuffix(stem, suffix) || stem == lockName)
}
