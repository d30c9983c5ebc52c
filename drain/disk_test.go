package drain_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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
	asNobody(t, s, func() {
		_, err := tryPut(s, drain.Hold{Holder: "operator", Mode: drain.Maint})
		wantWriteError(t, err, s.UntilReboot, unix.EACCES)
		_, err = s.Lift("operator", "")
		wantWriteError(t, err, s.UntilReboot, unix.EACCES)
		wantHolds(t, s, "operator:drain")
	})
	must(t, os.Chmod(hold.Path, 0o600))
	asNobody(t, s, func() { wantHolds(t, s, "operator:maint:hold-unreadable") })
	must(t, os.Chmod(s.Persistent, 0o700))
	asNobody(t, s, func() { wantHolds(t, s, doubt) })
}

// asNobody calls f, whose operations on the directories run as another user, each in a thread that ends with it.
func asNobody(t *testing.T, s *drain.Store, f func()) {
	t.Helper()
	s.SetEntered(func(string) {
		runtime.LockOSThread()
		const nobody = 65534
		if _, _, err := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, 0); err != 0 {
			t.Error(err)
		}
	})
	defer s.SetEntered(nil)
	f()
}

func TestFailedWriteKeepsTheHolds(t *testing.T) {
	needRoot(t)
	s, _ := newStore(t)
	must(t, unix.Mount("tmpfs", s.Persistent, "tmpfs", 0, "size=64k,mode=755"))
	t.Cleanup(func() { _ = unix.Unmount(s.Persistent, unix.MNT_DETACH) })
	before := put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "before"})
	ballast, err := os.Create(filepath.Join(s.Persistent, "ballast"))
	for err == nil {
		_, err = ballast.Write(make([]byte, 4096))
	}
	ballast.Close()

	_, err = tryPut(s, drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: strings.Repeat("x", 8<<10)})
	wantWriteError(t, err, s.Persistent, unix.ENOSPC)
	if after := s.Read().Holds(); len(after) != 1 || after[0] != before {
		t.Errorf("holds are %+v, were %+v", after, before)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Persistent, ".*")); len(left) != 0 {
		t.Errorf("left %q", left)
	}

	must(t, unix.Mount("", s.Persistent, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err = tryPut(s, drain.Hold{Holder: "operator", Mode: drain.Maint})
	wantWriteError(t, err, s.Persistent, unix.EROFS)
	// A hold cannot be moved away from a read-only file system, so both remain.
	_, err = tryPut(s, drain.Hold{Holder: "operator", Mode: drain.Drain, UntilReboot: true})
	wantWriteError(t, err, s.Persistent, unix.EROFS)
	wantHolds(t, s, "operator:drain:reboot operator:drain")

	must(t, unix.Mount("", s.Persistent, "", unix.MS_REMOUNT, ""))
	if lifted, err := s.LiftAll(); len(lifted) != 2 || err != nil && !errors.Is(err, unix.ENOSPC) {
		t.Errorf("on a full disk: lifted %s, %v", describe(lifted), err)
	}
	wantHolds(t, s, "")
}

func wantWriteError(t *testing.T, err error, dir string, cause error) {
	t.Helper()
	if we, is := errors.AsType[*fs.PathError](err); !is || filepath.Dir(we.Path) != dir || we.Err != cause {
		t.Errorf("error %v, want %v in %s", err, cause, dir)
	}
}
