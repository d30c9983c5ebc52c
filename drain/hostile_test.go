package drain_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/drain"
	"golang.org/x/sys/unix"
)

// TestHostileFileIsMaint puts something hostile in the place of a hold. It must count as
// maint, report why, and be removed when it is lifted by name.
func TestHostileFileIsMaint(t *testing.T) {
	const good = `{"mode":"drain"}`
	for _, tc := range []struct {
		name  string
		make  func(t *testing.T, path string)
		error string
	}{
		{"symbolic link", func(t *testing.T, path string) {
			target := filepath.Join(t.TempDir(), "target")
			must(t, os.WriteFile(target, []byte(good), 0o644))
			must(t, os.Symlink(target, path))
		}, "is a symbolic link"},
		{"dangling link", func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) }, "is a symbolic link"},
		{"FIFO", func(t *testing.T, path string) { must(t, unix.Mkfifo(path, 0o644)) }, "not a regular file"},
		{"socket", func(t *testing.T, path string) {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			must(t, err)
			defer unix.Close(fd)
			// A path through the descriptor, because socket addresses are short.
			dir, err := os.Open(filepath.Dir(path))
			must(t, err)
			defer dir.Close()
			must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))}))
		}, "no such device or address"},
		{"directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) }, "not a regular file"},
		{"sparse file of 1 GiB", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(good), 0o644))
			must(t, os.Truncate(path, 1<<30))
		}, "larger than 65536 bytes"},
		{"torn file", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(good[:9]), 0o644)) }, "EOF"},
		{"empty file", func(t *testing.T, path string) { must(t, os.WriteFile(path, nil, 0o644)) }, "file is empty"},
		{"world-writable file", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(good), 0o644))
			must(t, os.Chmod(path, 0o666))
		}, "world-writable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			path := filepath.Join(s.Persistent, "x.json")
			tc.make(t, path)
			holds := s.Read().Holds()
			if len(holds) != 1 || holds[0].Holder != "x" || holds[0].Mode != drain.Maint ||
				holds[0].Code != drain.Unreadable || !strings.Contains(holds[0].Error, tc.error) {
				t.Errorf("holds %+v, want the error %q", holds, tc.error)
			}
			if lifted, err := s.Lift("x", ""); len(lifted) != 1 || err != nil {
				t.Errorf("lifted %s, %v", describe(lifted), err)
			}
			wantHolds(t, s, "")
		})
	}
}

func TestForeignFileIsUnreadable(t *testing.T) {
	needRoot(t)
	const alice, bob, ops = 54321, 54322, 54323
	for _, tc := range []struct {
		name               string
		dirUID, dirGID     int
		dirMode            os.FileMode
		fileUID, fileGID   int
		want, error, owner string
	}{
		{"root", alice, alice, 0o755, 0, 0, "x:drain", "", "root"},
		{"owner of the directory", alice, alice, 0o755, alice, alice, "x:drain", "", "uid 54321"},
		{"member of the group", 0, ops, 0o775 | os.ModeSetgid, bob, ops, "x:drain", "", "uid 54322"},
		{"foreign", 0, 0, 0o755, bob, bob, "x:maint:hold-unreadable", "owner uid 54322 is neither", "uid 54322"},
		{"group that may not write", 0, ops, 0o755, bob, ops, "x:maint:hold-unreadable", "owner uid 54322 is neither",
			"uid 54322"},
		{"another group", 0, ops, 0o775, bob, bob, "x:maint:hold-unreadable", "owner uid 54322 is neither", "uid 54322"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			drop(t, s.Persistent, "x.json", `{"mode":"drain"}`)
			must(t, os.Chown(filepath.Join(s.Persistent, "x.json"), tc.fileUID, tc.fileGID))
			must(t, os.Chown(s.Persistent, tc.dirUID, tc.dirGID))
			must(t, os.Chmod(s.Persistent, tc.dirMode))
			wantHolds(t, s, tc.want)
			if h := s.Read().Holds()[0]; h.Owner != tc.owner || !strings.Contains(h.Error, tc.error) {
				t.Errorf("owner %q, error %q", h.Owner, h.Error)
			}
		})
	}
}

// A hold of a member of the group is readable even if the directory does not pass on its
// group to new files.
func TestGroupMemberCanPut(t *testing.T) {
	needRoot(t)
	s, _ := newStore(t)
	must(t, os.Chown(s.Persistent, 0, 54323))
	must(t, os.Chmod(s.Persistent, 0o775))
	stored := put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	var stat unix.Stat_t
	must(t, unix.Stat(stored.Path, &stat))
	if stat.Gid != 54323 {
		t.Errorf("group %d", stat.Gid)
	}
}

func TestBadDirectoryIsAHold(t *testing.T) {
	const bad = "directory:maint:hold-unreadable"
	for _, tc := range []struct {
		name  string
		make  func(t *testing.T, dir string)
		error string
		want  string
	}{
		{"missing", func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, `"pmcheck ready" creates it`, bad},
		{"file", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, os.WriteFile(dir, nil, 0o644))
		}, "not a directory", bad},
		{"FIFO", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, unix.Mkfifo(dir, 0o644))
		}, "not a directory", bad},
		{"dangling link", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, os.Symlink("nowhere", dir))
		}, "no such file", bad},
		{"link to a directory", func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+".real"))
			must(t, os.Symlink(dir+".real", dir))
		}, "", "x:drain"},
		{"world-writable", func(t *testing.T, dir string) {
			must(t, os.Chmod(dir, 0o777|os.ModeSticky))
		}, "chmod o-w", bad + " x:drain"},
		{"1000 entries", func(t *testing.T, dir string) { fill(t, dir, 1000) }, "", "x:drain"},
		{"1001 entries", func(t *testing.T, dir string) { fill(t, dir, 1001) }, "more than 1000 entries", bad},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			drop(t, s.Persistent, "x.json", `{"mode":"drain"}`)
			tc.make(t, s.Persistent)
			wantHolds(t, s, tc.want)
			if h := s.Read().Holds()[0]; !strings.Contains(h.Error, tc.error) || tc.error != "" && h.Path != s.Persistent {
				t.Errorf("%+v, want the error %q", h, tc.error)
			}
		})
	}
}

// fill adds files that are not holds until dir has n entries.
func fill(t *testing.T, dir string, n int) {
	t.Helper()
	names, err := os.ReadDir(dir)
	must(t, err)
	for i := range n - len(names) {
		drop(t, dir, fmt.Sprintf("%d.txt", i), "")
	}
}

func TestLiftAllLiftsMoreThan1000Holds(t *testing.T) {
	s, _ := newStore(t)
	for i := range 1001 {
		drop(t, s.Persistent, fmt.Sprintf("job-%d.json", i), "{")
	}
	wantMode(t, s, "", drain.Maint)
	if lifted, err := s.LiftAll(); len(lifted) != 1001 || err != nil {
		t.Errorf("lifted %d, %v", len(lifted), err)
	}
	wantHolds(t, s, "")
}

func TestOtherFilesAreIgnored(t *testing.T) {
	s, _ := newStore(t)
	for _, name := range []string{".x.json", ".x.json123", "x", "x.json~", "x.json.dpkg-new", "x.JSON", "README"} {
		drop(t, s.Persistent, name, "{")
	}
	must(t, os.Mkdir(filepath.Join(s.Persistent, "lost+found"), 0o700))
	wantHolds(t, s, "")
}

func TestHoldWithoutSinceDatesFromItsFile(t *testing.T) {
	s, _ := newStore(t)
	drop(t, s.Persistent, "x.json", `{"mode":"drain"}`)
	must(t, os.Chtimes(filepath.Join(s.Persistent, "x.json"), hours(9), hours(-9)))
	if h := s.Read().Holds()[0]; h.Since != hours(-9) {
		t.Errorf("since %s", h.Since)
	}
}
