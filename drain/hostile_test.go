package drain_test

import (
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
		{"directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) }, "not a regular file"},
		{"sparse file of 1 GiB", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(good), 0o644))
			must(t, os.Truncate(path, 1<<30))
		}, "larger than 65536 bytes"},
		{"torn file", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(good[:9]), 0o644)) }, "EOF"},
		{"empty file", func(t *testing.T, path string) { must(t, os.WriteFile(path, nil, 0o644)) }, "file is empty"},
		{"world-writable file", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(good), 0o644))
			must(t, os.Chmod(path, 0o646))
		}, "other users than its owner can write it"},
		{"group-writable file", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(good), 0o644))
			must(t, os.Chmod(path, 0o664))
		}, "other users than its owner can write it"},
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
	const alice, bob = 54321, 54322
	for _, tc := range []struct {
		name               string
		dir, file          int // user and group
		want, error, owner string
	}{
		{"root", alice, 0, "x:drain", "", "root"},
		{"owner of the directory", alice, alice, "x:drain", "", "uid 54321"},
		{"foreign", 0, bob, "x:maint:hold-unreadable", "owner uid 54322 is neither", "uid 54322"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			drop(t, s.Persistent, "x.json", `{"mode":"drain"}`)
			must(t, os.Chown(filepath.Join(s.Persistent, "x.json"), tc.file, tc.file))
			must(t, os.Chown(s.Persistent, tc.dir, tc.dir))
			wantHolds(t, s, tc.want)
			if h := s.Read().Holds()[0]; h.Owner != tc.owner || !strings.Contains(h.Error, tc.error) {
				t.Errorf("owner %q, error %q", h.Owner, h.Error)
			}
		})
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
		}, "chmod go-w", bad + " x:drain"},
		{"group-writable", func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o775)) }, "chmod go-w", bad + " x:drain"},
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
