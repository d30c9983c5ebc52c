package drain_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// replaceDir replaces dir by a new directory with a file in it; without a file, by an
// empty one.
func replaceDir(dir, file string) error {
	next := dir + ".next"
	err := errors.Join(os.Mkdir(next, 0o755), os.Rename(dir, dir+".old"))
	if file != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(next, file), []byte(`{"mode":"drain"}`), 0o644))
	}
	return errors.Join(err, os.Rename(next, dir))
}

// Until it is accepted, a directory that has replaced another one does not prove that
// there are no holds.
func TestReplacedDirectoryIsAHold(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		do    func(dir string) error
		doubt bool
		holds string
	}{
		{"created again", func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755))
		}, true, ""},
		{"empty one in its place", func(dir string) error { return replaceDir(dir, "") }, true, ""},
		{"one with a hold in its place", func(dir string) error { return replaceDir(dir, "a.json") }, true, "a:drain"},
		{"link to another", func(dir string) error {
			return errors.Join(replaceDir(dir, ""), os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
		}, true, ""},
		{"moved and linked to", func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
		}, false, ""},
		{"moved away and back", func(dir string) error {
			return errors.Join(replaceDir(dir, ""), os.Remove(dir), os.Rename(dir+".old", dir))
		}, false, ""},
		{"other permissions and times", func(dir string) error {
			return errors.Join(os.Chmod(dir, 0o750), os.Chtimes(dir, noon, noon), os.Chmod(dir, 0o755))
		}, false, ""},
	} {
		for _, reboot := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, until reboot %t", tc.name, reboot), func(t *testing.T) {
				s, _ := newStore(t)
				w := s.Watch()
				w.SetInterval(never)
				start(t, s, w)
				// A hold in the other directory shows that w has scanned.
				dir, place, want := s.Persistent, "", "canary:maint:reboot"
				if reboot {
					dir, place, want = s.UntilReboot, ":reboot", "canary:maint"
				}
				must(t, tc.do(dir))
				doubt, holds := "", ""
				if tc.doubt {
					doubt = " directory:maint" + place + ":hold-unreadable"
				}
				if tc.holds != "" {
					holds = " " + tc.holds + place
				}
				put(t, s, drain.Hold{Holder: "canary", Mode: drain.Maint, UntilReboot: !reboot})
				w.Rescan()
				waitFor(t, w, want+doubt+holds)
				w.Accept()
				waitFor(t, w, want+holds)
			})
		}
	}
}

// The hold names the command that accepts the directory. A new watcher has no such hold.
func TestHoldForAReplacedDirectoryStaysUntilAccepted(t *testing.T) {
	t.Parallel()
	s, w := watched(t, 10*time.Millisecond)
	must(t, replaceDir(s.Persistent, ""))
	const doubt = "directory:maint:hold-unreadable"
	waitFor(t, w, doubt)
	const told = `the directory was replaced; its former holds are not known; ` +
		`"systemctl reload pmcheck" accepts it as it is`
	waitUntil(t, w, s.Persistent+": "+told, func() string {
		h := w.Current().Holds()[0]
		return h.Path + ": " + h.Error
	})
	put(t, s, drain.Hold{Holder: "upgrade", Mode: drain.Drain})
	waitFor(t, w, doubt+" upgrade:drain")
	if _, err := s.Lift("upgrade", ""); err != nil {
		t.Error(err)
	}
	waitFor(t, w, doubt)
	if got := describe(s.Watch().Current().Holds()); got != "" {
		t.Errorf("a new watcher sees %s", got)
	}
	put(t, s, drain.Hold{Holder: drain.Operator, Mode: drain.Drain})
	if _, err := s.Lift(drain.Directory, ""); !errors.Is(err, drain.ErrNotFound) {
		t.Errorf("%v, want %v: no file holds", err, drain.ErrNotFound)
	}
	if _, err := s.LiftAll(); err != nil {
		t.Error(err)
	}
	waitFor(t, w, doubt) // no lift accepts it
	w.Accept()
	waitFor(t, w, "")
}

// The directory is missing when the watcher begins, so the one that is created later is
// the first that it sees, and replaces none.
func TestFirstDirectoryReplacesNothing(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	must(t, os.Remove(s.Persistent))
	w := s.Watch()
	w.SetInterval(never)
	start(t, s, w)
	waitFor(t, w, "directory:maint:hold-unreadable")
	must(t, os.Mkdir(s.Persistent, 0o755))
	w.Rescan()
	waitFor(t, w, "")
}

// A directory that is missing when the others are accepted is not accepted with them.
func TestMissingDirectoryIsNotAccepted(t *testing.T) {
	t.Parallel()
	s, w := watched(t, 10*time.Millisecond)
	const doubt = "directory:maint:hold-unreadable"
	must(t, os.Rename(s.Persistent, s.Persistent+".old"))
	waitFor(t, w, doubt)
	w.Accept()
	seen := doubt
	for _, canary := range []string{"x", "y"} { // the second shows that w has read the directories since
		put(t, s, drain.Hold{Holder: canary, Mode: drain.Maint, UntilReboot: true})
		seen += " " + canary + ":maint:reboot"
		waitFor(t, w, seen)
	}
	must(t, os.Mkdir(s.Persistent, 0o755))
	waitUntil(t, w, "true", func() string {
		return fmt.Sprint(strings.Contains(w.Current().Holds()[0].Error, "was replaced"))
	})
}
