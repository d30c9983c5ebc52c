package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/drain"
)

func TestMissingPermissionIsReported(t *testing.T) {
	needRoot(t)
	s, _ := newStore(t)
	hold := put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain})
	for dir := s.Persistent; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	asUser := func(command, want string) {
		t.Helper()
		if got := runAs(t, 54321, s, command); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
	asUser("put operator", "permission denied in "+s.UntilReboot)
	asUser("lift operator", "permission denied in "+s.UntilReboot)
	asUser("read", "operator:drain")
	must(t, os.Chmod(hold.Path, 0o600))
	asUser("read", "operator:maint:hold-unreadable")
	must(t, os.Chmod(s.Persistent, 0o700))
	asUser("read", "directory:maint:hold-unreadable")
}

func TestFailedWriteKeepsTheHolds(t *testing.T) {
	needRoot(t)
	s, _ := newStore(t)
	mount(t, s.Persistent)
	before := put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "before"})
	ballast, err := os.Create(filepath.Join(s.Persistent, "ballast"))
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	ballast.Close()

	_, err = s.Put(drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: strings.Repeat("x", 8<<10)})
	wantWriteError(t, err, s.Persistent, unix.ENOSPC)
	if after := s.Read().Holds(); len(after) != 1 || after[0] != before {
		t.Errorf("holds are %+v, were %+v", after, before)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Persistent, ".*")); len(left) != 0 {
		t.Errorf("left %q", left)
	}

	must(t, unix.Mount("", s.Persistent, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err = s.Put(drain.Hold{Holder: "operator", Mode: drain.Maint})
	wantWriteError(t, err, s.Persistent, unix.EROFS)
	_, err = s.Lift("operator", "")
	wantWriteError(t, err, s.Persistent, unix.EROFS)
	put(t, s, drain.Hold{Holder: "other", Mode: drain.Maint, UntilReboot: true})
	// A hold cannot be moved away from a read-only file system, so both remain.
	_, err = s.Put(drain.Hold{Holder: "operator", Mode: drain.Drain, UntilReboot: true})
	wantWriteError(t, err, s.Persistent, unix.EROFS)
	wantHolds(t, s, "other:maint:reboot operator:drain:reboot operator:drain")

	must(t, unix.Mount("", s.Persistent, "", unix.MS_REMOUNT, ""))
	if lifted, err := s.LiftAll(); len(lifted) != 3 || err != nil && !errors.Is(err, unix.ENOSPC) {
		t.Errorf("on a full disk: lifted %s, %v", describe(lifted), err)
	}
	wantHolds(t, s, "")
}

func wantWriteError(t *testing.T, err error, dir string, cause error) {
	t.Helper()
	if we, is := errors.AsType[*drain.WriteError](err); !is || we.Dir != dir || we.Err != cause {
		t.Errorf("error %v, want %v in %s", err, cause, dir)
	}
}

// mount puts a small file system over dir.
func mount(t *testing.T, dir string) {
	t.Helper()
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=755"))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

func TestWatchFollowsAMountedDirectory(t *testing.T) {
	needRoot(t)
	t.Parallel()
	s, w := watched(t, 10*time.Millisecond)
	mount(t, s.Persistent)
	waitFor(t, w, doubt)
	w.Accept()
	waitFor(t, w, "")
	put(t, s, drain.Hold{Holder: "mounted", Mode: drain.Maint})
	waitFor(t, w, "mounted:maint")
	must(t, unix.Unmount(s.Persistent, unix.MNT_DETACH)) // the watcher may be reading it
	waitFor(t, w, doubt+" first:drain")
	put(t, s, drain.Hold{Holder: "second", Mode: drain.Maint})
	waitFor(t, w, doubt+" second:maint first:drain")
	w.Accept()
	waitFor(t, w, "second:maint first:drain")
}
