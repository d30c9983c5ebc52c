package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What is hostile in the place of a hold counts as maint, says why, and can be lifted by name.
func TestHostileFileIsMaint(t *testing.T) {
	const writable = "other users than its owner can write it"
	for _, tc := range []struct {
		name  string
		make  func(path string) error // out of a good hold
		error string
	}{
		{"symbolic link", func(path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		}, "is a symbolic link"},
		{"FIFO", func(path string) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o644)) },
			"not a regular file"},
		{"directory", func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
			"not a regular file"},
		{"sparse file of 1 GiB", func(path string) error { return os.Truncate(path, 1<<30) }, "larger than 65536 bytes"},
		{"torn file", func(path string) error { return os.Truncate(path, 9) }, "EOF"},
		{"world-writable file", func(path string) error { return os.Chmod(path, 0o646) }, writable},
		{"group-writable file", func(path string) error { return os.Chmod(path, 0o664) }, writable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			drop(t, s.Persistent, "x.json", `{"mode":"drain"}`)
			must(t, tc.make(filepath.Join(s.Persistent, "x.json")))
			wantHolds(t, s, "x:maint:hold-unreadable")
			if h := s.Read().Holds()[0]; !strings.Contains(h.Error, tc.error) {
				t.Errorf("%+v, want the error %q", h, tc.error)
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

// doubt is the hold that stands for the persistent directory.
const doubt = "directory:maint:hold-unreadable"

func TestBadDirectoryIsAHold(t *testing.T) {
	for _, tc := range []struct {
		name  string
		make  func(dir string) error // out of a directory with the hold x
		error string
		want  string
	}{
		{"missing", func(dir string) error { return os.Rename(dir, dir+".old") }, `"pmcheck ready" creates it`, doubt},
		{"FIFO", func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".old"), unix.Mkfifo(dir, 0o644))
		}, "not a directory", doubt},
		{"link to a directory", func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
		}, "", "x:drain"},
		{"world-writable", func(dir string) error { return os.Chmod(dir, 0o757|os.ModeSticky) }, "chmod go-w",
			doubt + " x:drain"},
		{"group-writable", func(dir string) error { return os.Chmod(dir, 0o775) }, "chmod go-w", doubt + " x:drain"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			drop(t, s.Persistent, "x.json", `{"mode":"drain"}`)
			must(t, tc.make(s.Persistent))
			wantHolds(t, s, tc.want)
			if h := s.Read().Holds()[0]; !strings.Contains(h.Error, tc.error) || tc.error != "" && h.Path != s.Persistent {
				t.Errorf("%+v, want the error %q", h, tc.error)
			}
		})
	}
}

func TestOtherFilesAreIgnored(t *testing.T) {
	s, _ := newStore(t)
	for _, name := range []string{".x.json", ".x.json123", "x", "x.json~", "x.json.dpkg-new", "x.JSON"} {
		drop(t, s.Persistent, name, "{")
	}
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
