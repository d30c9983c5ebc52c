package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// doubt is the hold that stands for the persistent directory.
const doubt = "directory:maint:hold-unreadable"

// What is hostile in the place of a hold or of its directory counts as maint, says why, and can be lifted by name if it
// is in the directory.
func TestHostileFileIsMaint(t *testing.T) {
	const unreadable, writable = "x:maint:hold-unreadable", "other users than its owner can write it"
	link := func(path string) error {
		return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
	}
	fifo := func(path string) error { return errors.Join(os.RemoveAll(path), unix.Mkfifo(path, 0o644)) }
	for _, tc := range []struct {
		name        string
		file, dir   func(path string) error // what happens to the hold x, or to its directory
		error, want string
	}{
		{"symbolic link", link, nil, "is a symbolic link", unreadable},
		{"FIFO", fifo, nil, "not a regular file", unreadable},
		{"directory", func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) }, nil,
			"not a regular file", unreadable},
		{"sparse file of 1 GiB", func(path string) error { return os.Truncate(path, 1<<30) }, nil,
			"is larger than 64 KiB", unreadable},
		{"torn file", func(path string) error { return os.Truncate(path, 9) }, nil, "EOF", unreadable},
		{"world-writable file", func(path string) error { return os.Chmod(path, 0o646) }, nil, writable, unreadable},
		{"group-writable file", func(path string) error { return os.Chmod(path, 0o664) }, nil, writable, unreadable},

		{"no directory", nil, os.RemoveAll, `"pmcheck ready" creates it`, doubt},
		{"FIFO instead of a directory", nil, fifo, "not a directory", doubt},
		{"link to a directory", nil, link, "", "x:drain"},
		{"world-writable directory", nil, func(path string) error { return os.Chmod(path, 0o757|os.ModeSticky) },
			"chmod go-w", doubt + " x:drain"},
		{"group-writable directory", nil, func(path string) error { return os.Chmod(path, 0o775) }, "chmod go-w",
			doubt + " x:drain"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			drop(t, s.Persistent, "x.json", drained)
			do, path := tc.dir, s.Persistent
			if tc.file != nil {
				do, path = tc.file, filepath.Join(s.Persistent, "x.json")
			}
			must(t, do(path))
			wantHolds(t, s, tc.want)
			if h := s.Read().Holds()[0]; !strings.Contains(h.Error, tc.error) || tc.error != "" && h.Path != path {
				t.Errorf("%+v, want the error %q", h, tc.error)
			}
			if tc.file == nil {
				return
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
		name        string
		dir, file   int // user and group
		want, error string
	}{
		{"root", alice, 0, "x:drain", ""},
		{"owner of the directory", alice, alice, "x:drain", ""},
		{"foreign", 0, bob, "x:maint:hold-unreadable", "owner uid 54322 is neither"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			drop(t, s.Persistent, "x.json", `{"mode":"drain"}`)
			must(t, os.Chown(filepath.Join(s.Persistent, "x.json"), tc.file, tc.file))
			must(t, os.Chown(s.Persistent, tc.dir, tc.dir))
			wantHolds(t, s, tc.want)
			if h := s.Read().Holds()[0]; !strings.Contains(h.Error, tc.error) {
				t.Errorf("error %q", h.Error)
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
