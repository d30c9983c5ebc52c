package drain_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
	"golang.org/x/sys/unix"
)

// TestMissingPermissionIsReported acts as a user without permission to write, and as a
// user without permission to read.
func TestMissingPermissionIsReported(t *testing.T) {
	needRoot(t)
	s, _ := newStore(t)
	put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain})
	openWay(t, s.Persistent)
	for _, args := range [][]string{{"put", "other"}, {"put", "operator"}, {"lift", "operator"}} {
		out := runAs(t, 54321, s, args...)
		if want := fmt.Sprintf("permission denied in %s", s.UntilReboot); out != want {
			t.Errorf("%q: %s, want %s", args, out, want)
		}
	}
	wantHolds(t, s, "operator:drain")
	if out := runAs(t, 54321, s, "read"); out != "operator:drain" {
		t.Errorf("reads %s", out)
	}
	must(t, os.Chmod(s.Persistent, 0o700))
	if out := runAs(t, 54321, s, "read"); out != "directory:maint:hold-unreadable" {
		t.Errorf("reads %s", out)
	}
	must(t, os.Chmod(s.Persistent, 0o755))
	must(t, os.Chmod(filepath.Join(s.Persistent, "operator.json"), 0o600))
	if out := runAs(t, 54321, s, "read"); out != "operator:maint:hold-unreadable" {
		t.Errorf("reads %s", out)
	}
}

func TestFailedWriteKeepsTheHolds(t *testing.T) {
	needRoot(t)
	s, _ := newStore(t)
	mount(t, s.Persistent)
	put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "before"})
	fillDisk(t, s.Persistent)
	before := s.Read().Holds()

	_, putErr := s.Put(drain.Hold{Holder: "operator", Mode: drain.Maint, Reason: strings.Repeat("x", 8<<10)})
	wantWriteError(t, putErr, s.Persistent, unix.ENOSPC)
	if after := s.Read().Holds(); len(after) != 1 || after[0] != before[0] {
		t.Errorf("holds are %+v, were %+v", after, before)
	}
	if left := temporaries(t, s.Persistent); len(left) != 0 {
		t.Errorf("left %q", left)
	}

	must(t, unix.Mount("", s.Persistent, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, putErr = s.Put(drain.Hold{Holder: "operator", Mode: drain.Maint})
	_, liftErr := s.Lift("operator", "")
	wantWriteError(t, putErr, s.Persistent, unix.EROFS)
	wantWriteError(t, liftErr, s.Persistent, unix.EROFS)
	put(t, s, drain.Hold{Holder: "other", Mode: drain.Maint, UntilReboot: true})
	wantHolds(t, s, "other:maint:reboot operator:drain")

	// A hold cannot be moved away from a read-only file system, so both remain.
	_, putErr = s.Put(drain.Hold{Holder: "operator", Mode: drain.Drain, UntilReboot: true})
	wantWriteError(t, putErr, s.Persistent, unix.EROFS)
	wantHolds(t, s, "other:maint:reboot operator:drain:reboot operator:drain")

	must(t, unix.Mount("", s.Persistent, "", unix.MS_REMOUNT, ""))
	if lifted, err := s.LiftAll(); len(lifted) != 3 || err != nil && !errors.Is(err, unix.ENOSPC) {
		t.Errorf("on a full disk: lifted %s, %v", describe(lifted), err)
	}
	wantHolds(t, s, "")
}

func wantWriteError(t *testing.T, err error, dir string, cause error) {
	t.Helper()
	var we *drain.WriteError
	if !errors.As(err, &we) || we.Dir != dir || we.Err != cause {
		t.Errorf("error %v, want %v in %s", err, cause, dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// mount puts a small file system over dir.
func mount(t *testing.T, dir string) {
	t.Helper()
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=755"))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

func fillDisk(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "ballast"))
	must(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

// TestWatchFollowsAMountedDirectory: the kernel reports the changes in the directory again once
// the watcher has noticed the mount.
func TestWatchFollowsAMountedDirectory(t *testing.T) {
	needRoot(t)
	t.Parallel()
	s, w := watched(t, 10*time.Millisecond)
	const bad = "directory:maint:hold-unreadable"
	mount(t, s.Persistent)
	waitFor(t, w, bad)
	w.Accept()
	waitFor(t, w, "")
	put(t, s, drain.Hold{Holder: "mounted", Mode: drain.Maint})
	waitFor(t, w, "mounted:maint")
	must(t, unix.Unmount(s.Persistent, 0))
	waitFor(t, w, bad+" first:drain")
	put(t, s, drain.Hold{Holder: "second", Mode: drain.Maint})
	waitFor(t, w, bad+" second:maint first:drain")
	w.Accept()
	waitFor(t, w, "second:maint first:drain")
}

// exchange swaps two directories in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}
