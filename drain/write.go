package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
)

// keepExpired is how long after its end a hold stays on disk, until the next change: the clock may be wrong
// for a while, and the hold counts again if it is set back.
const keepExpired = 24 * time.Hour

// Change sets the hold of holder on service to what next returns: its mode, reason, end, By and Leaving, in the
// directory that UntilReboot names. Other fields are ignored. If By is empty and root calls through
// sudo, By becomes the user who called sudo. Change returns the hold as it is read back.
//
// Change calls next with the hold that it replaces, which may be unreadable, or with the zero Hold if there is none
// in effect. No other writer can change the hold between that call and the write. An error of next is returned as it
// is, and nothing is written. If next returns the zero Hold, the hold is lifted.
//
// A hold that replaces a firm one keeps its Since, and moves if it is in the other directory. At any moment at least
// one of the two exists. When Change returns without an error, the hold is on stable storage. After an
// [*fs.PathError] the old hold is in place, with two exceptions: if Op is "remove", both are in place; if Op is
// "sync", the new hold is, but it may not survive a power failure. If the error wraps [ErrHangs], a step that has
// begun may still end.
func (s *Store) Change(holder string, service Service, next func(old Hold) (Hold, error)) (Hold, error) {
	if err := CheckName(holder); err != nil {
		return Hold{}, fmt.Errorf("holder: %w", err)
	}
	if err := CheckName(string(service)); err != nil && service != EveryService {
		return Hold{}, fmt.Errorf("service: %w", err)
	}

	unlock, err := s.lock()
	if err != nil {
		return Hold{}, err
	}
	defer unlock()

	old, _ := s.find(named(fileName(holder, service))) // a hold in a directory that cannot be read stays
	current := s.current(old)
	h, err := next(current)
	if err != nil {
		return Hold{}, err
	}
	if h == (Hold{}) {
		_, err := s.remove(old)
		return Hold{}, err
	}

	h.Holder = holder
	h.Service = service
	// Two writers of the same leaving hold tell their holds apart by the time.
	h.Since = s.clock().UTC().Truncate(time.Microsecond)
	isFirm := current.Mode != "" && current.Leaving == Firm
	if isFirm && current.Since.Before(h.Since) {
		h.Since = current.Since
	}
	return s.replace(old, h)
}

// Lift removes the hold of holder on service, which may be unreadable, from both
// directories and returns what it removed. It removes only that hold: with [EveryService]
// as service, the hold on every service, but not those on single services.
//
// Lift creates missing directories, so that a host without them can become ready.
//
// It succeeds if there is nothing to lift. A directory that hangs or cannot be read is an error: what is in it is not
// known. The error wraps an [*fs.PathError] for each operation that failed; the holds that were removed are returned
// even then.
func (s *Store) Lift(holder string, service Service) ([]Hold, error) {
	return s.liftMatching(named(fileName(holder, service)))
}

// LiftAll is Lift for all holds, including unreadable and expired ones.
func (s *Store) LiftAll() ([]Hold, error) {
	return s.liftMatching(func(Hold) bool { return true })
}

func (s *Store) liftMatching(match func(Hold) bool) (lifted []Hold, err error) {
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()

	makeErr := s.makeDir(s.Persistent)
	found, unread := s.find(match)
	lifted, err = s.remove(found)
	s.tidy()
	return newSnapshot(s.clock(), lifted, nil).list, errors.Join(cmp.Or(makeErr, unread), err)
}

func named(file string) func(Hold) bool {
	return func(h Hold) bool { return filepath.Base(h.Path) == file }
}

// find returns the holds that match in both directories, and none of a directory that cannot be read. The error names
// the directories that may have such a hold.
func (s *Store) find(match func(Hold) bool) (found []Hold, unread error) {
	for _, dir := range s.dirs() {
		r, err := s.scan(dir)
		r.close()
		found = append(found, keep(r.holds, match)...)
		isRead := err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, errWritable)
		if !isRead {
			unread = errors.Join(unread, pathError("read", dir, err))
		}
	}
	return found, unread
}

// current returns the hold of old that counts. If there are two, as after a move that
// failed, the persistent hold counts.
func (s *Store) current(old []Hold) (current Hold) {
	for _, o := range old {
		if o.InEffect(s.clock()) {
			current = o // the persistent hold comes last
		}
	}
	return current
}

// replace writes h in the place of the old holds of its holder and service. The caller must have
// the lock.
func (s *Store) replace(old []Hold, h Hold) (Hold, error) {
	if !h.InEffect(s.clock()) {
		return Hold{}, fmt.Errorf("hold %s: the end %s has passed", h.Holder, h.Until.Format(time.RFC3339))
	}
	if h.By == "" && os.Geteuid() == 0 {
		h.By = os.Getenv("SUDO_USER")
	}

	data, err := h.encode()
	if err != nil {
		return Hold{}, fmt.Errorf("hold %s: %w", h.Holder, err)
	}

	dir := s.Persistent
	if h.UntilReboot {
		dir = s.UntilReboot
	}
	if err := s.makeDir(dir); err != nil {
		return Hold{}, err
	}

	path := filepath.Join(dir, fileName(h.Holder, h.Service))
	err = s.change("write", path, dir, func(ctx context.Context) error { return writeFile(ctx, path, data) })
	if err != nil {
		return Hold{}, err
	}
	if err := s.syncDir(dir); err != nil {
		return Hold{}, err
	}

	// The old hold goes last: at any moment one of the two exists.
	elsewhere := keep(old, func(o Hold) bool { return o.Path != path })
	if _, err := s.remove(elsewhere); err != nil {
		return Hold{}, err
	}
	s.tidy()

	stored, unread := s.find(func(h Hold) bool { return h.Path == path })
	if len(stored) == 0 {
		return Hold{}, cmp.Or(unread, fmt.Errorf("%s is gone again", path))
	}
	return stored[0], nil
}

// writeFile writes the file at path in one step, unless ctx ends before that step: the caller has been told then that
// the old file is in place.
func writeFile(ctx context.Context, path string, data []byte) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644),
		renameio.IgnoreUmask())
	if err != nil {
		return err
	}
	defer f.Cleanup()

	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ErrHangs
	}
	return f.CloseAtomicallyReplace()
}

// tidy removes holds that ended long ago. Failure does no harm: they are not in effect.
func (s *Store) tidy() {
	longAgo := s.clock().Add(-keepExpired)
	old, _ := s.find(func(h Hold) bool { return !h.InEffect(longAgo) })
	_, _ = s.remove(old)
}

// remove durably removes the files of holds. It returns the holds that it removed and
// those whose files were already gone.
func (s *Store) remove(holds []Hold) (removed []Hold, err error) {
	dirs := make(map[string]bool)
	for _, h := range holds {
		dir := filepath.Dir(h.Path)
		failed := s.change("remove", h.Path, dir, func(context.Context) error { return os.Remove(h.Path) })
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
			continue
		}
		dirs[dir] = true
		removed = append(removed, h)
	}

	for dir := range dirs {
		err = errors.Join(err, s.syncDir(dir))
	}
	return removed, err
}

// syncDir makes changes of the entries of dir durable.
func (s *Store) syncDir(dir string) error {
	return s.change("sync", dir, dir, func(context.Context) error {
		f, err := os.Open(dir)
		if err == nil {
			err = f.Sync()
			f.Close()
		}
		return err
	})
}

// Errors to test for with [errors.Is].
var (
	// ErrBusy means that another writer kept the store locked for 5 s.
	ErrBusy = errors.New("locked by another process")

	errTooLarge = fmt.Errorf("larger than %d bytes", maxHoldFile)
	errWritable = errors.New("other users than its owner can write it")
	errReplaced = errors.New("the directory was replaced; its former holds are not known")
)

// pathError says which change of the holds directories failed: op is create, write, remove, lock or sync. Its
// cause is the system's error number in err, since the path is named already. It returns nil if err is nil.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if errno, is := errors.AsType[syscall.Errno](err); is {
		err = errno
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
