package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
	"golang.org/x/sys/unix"
)

// keepLocked locks a file or directory until the test ends or unlock is called.
func keepLocked(t *testing.T, path string) (unlock func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	return func() { f.Close() }
}

func lockOf(dir string) string { return filepath.Join(dir, ".lock") }

func TestLockedStoreIsBusy(t *testing.T) {
	s, _ := newStore(t)
	s.LockWait = 10 * time.Millisecond
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	unlock := keepLocked(t, lockOf(s.Persistent))

	wantHolds(t, s, "a:drain") // a reader does not depend on the lock
	_, putErr := s.Put(drain.Hold{Holder: "b", Mode: drain.Drain})
	_, liftErr := s.Lift("a", "")
	for _, err := range []error{putErr, liftErr} {
		var we *drain.WriteError
		if !errors.As(err, &we) || !errors.Is(err, drain.ErrBusy) || we.Dir != s.Persistent {
			t.Errorf("error %v", err)
		}
	}
	wantHolds(t, s, "a:drain")
	unlock()
	if _, err := s.Lift("a", ""); err != nil {
		t.Error(err)
	}
}

// Any user can lock the directory itself, so that must not stop a writer.
func TestLockedDirectoryStopsNoWriter(t *testing.T) {
	s, _ := newStore(t)
	s.LockWait = 10 * time.Millisecond
	keepLocked(t, s.Persistent)
	keepLocked(t, s.UntilReboot)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	if _, err := s.LiftAll(); err != nil {
		t.Error(err)
	}
}

// TestUnfitLockIsReplaced puts something else in the place of the lock, as an
// administrator, a backup or a tool may have done. It must neither stop a writer nor be
// followed or kept.
func TestUnfitLockIsReplaced(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(t *testing.T, path string)
	}{
		{"world-readable", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, nil, 0o644))
			keepLocked(t, path)
		}},
		{"group lock, but the group cannot write the directory", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, nil, 0o600))
			must(t, os.Chmod(path, 0o660))
			keepLocked(t, path)
		}},
		{"symbolic link", func(t *testing.T, path string) {
			target := filepath.Join(t.TempDir(), "target")
			must(t, os.WriteFile(target, nil, 0o600))
			must(t, os.Symlink(target, path))
			keepLocked(t, target)
		}},
		{"dangling link", func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) }},
		{"FIFO", func(t *testing.T, path string) { must(t, unix.Mkfifo(path, 0o600)) }},
		{"empty directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			s.LockWait = 10 * time.Millisecond
			tc.make(t, lockOf(s.Persistent))
			put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
			wantLock(t, s.Persistent, os.Getuid(), os.Getgid(), 0o600)
			keepLocked(t, lockOf(s.Persistent))
			if _, err := s.Lift("a", ""); !errors.Is(err, drain.ErrBusy) {
				t.Errorf("the new lock does not lock: %v", err)
			}
			if _, err := os.Lstat(filepath.Join(s.Persistent, "nowhere")); err == nil {
				t.Error("the link was followed")
			}
		})
	}
}

func wantLock(t *testing.T, dir string, uid, gid int, mode uint32) {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Lstat(lockOf(dir), &stat))
	if stat.Uid != uint32(uid) || stat.Gid != uint32(gid) || uint32(stat.Mode) != unix.S_IFREG|mode {
		t.Errorf("lock is %d:%d %o, want %d:%d %o", stat.Uid, stat.Gid, stat.Mode, uid, gid, mode)
	}
}

// TestOnlyWritersCanOpenTheLock changes the permissions of a directory that is in use.
// Afterwards exactly the users with permission to write it can open its lock.
func TestOnlyWritersCanOpenTheLock(t *testing.T) {
	needRoot(t)
	const alice, bob, carol, ops = 54321, 54322, 54324, 54323
	old := unix.Umask(0o077)
	t.Cleanup(func() { unix.Umask(old) })
	s, _ := newStore(t)
	openWay(t, s.Persistent)
	openWay(t, s.UntilReboot)
	s.LockWait = 10 * time.Millisecond
	for _, step := range []struct {
		name     string
		uid, gid int
		mode     os.FileMode
		putBy    uint32
		lock     uint32
	}{
		{"root's own", 0, 0, 0o755, 0, 0o600},
		{"given away, root writes", alice, alice, 0o755, 0, 0o600},
		{"given away", alice, alice, 0o755, alice, 0o600},
		{"taken back", 0, 0, 0o755, 0, 0o600},
		{"opened to a group", 0, ops, 0o775 | os.ModeSetgid, 0, 0o660},
		{"opened to another group", 0, bob, 0o775, bob, 0o660},
	} {
		must(t, os.Chown(s.Persistent, step.uid, step.gid))
		must(t, os.Chmod(s.Persistent, step.mode))
		if out := runAs(t, step.putBy, s, "put", "a"); out != "<nil>" {
			t.Errorf("%s: %s", step.name, out)
		}
		owner := step.uid
		if step.lock == 0o660 {
			owner = int(step.putBy)
		}
		wantLock(t, s.Persistent, owner, step.gid, step.lock)
		if out := runAs(t, carol, s, "open-lock"); out != "permission denied" {
			t.Errorf("%s: a stranger can open the lock: %s", step.name, out)
		}
	}
}
