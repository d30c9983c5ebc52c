package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// replaceDir replaces dir by a new directory with the hold a.
func replaceDir(dir string) error {
	next := dir + ".next"
	return errors.Join(os.Mkdir(next, 0o755),
		os.WriteFile(filepath.Join(next, "a.json"), []byte(`{"mode":"drain"}`), 0o644),
		os.Rename(dir, dir+".old"), os.Rename(next, dir))
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
		{"another in its place", replaceDir, true, " a:drain"},
		{"link to another", func(dir string) error {
			return errors.Join(replaceDir(dir), os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
		}, true, " a:drain"},
		{"moved and linked to", func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
		}, false, ""},
		{"moved away and back", func(dir string) error {
			return errors.Join(replaceDir(dir), os.RemoveAll(dir), os.Rename(dir+".old", dir))
		}, false, ""},
		{"other permissions and times", func(dir string) error {
			return errors.Join(os.Chmod(dir, 0o750), os.Chtimes(dir, noon, noon), os.Chmod(dir, 0o755))
		}, false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			w := watch(t, s, 10*time.Millisecond)
			must(t, tc.do(s.Persistent))
			// A hold in the other directory shows that w has read this one since.
			put(t, s, drain.Hold{Holder: "canary", Mode: drain.Maint, UntilReboot: true})
			const canary = "canary:maint:reboot"
			if tc.doubt {
				waitFor(t, w, canary+" "+doubt+tc.holds)
				w.Accept()
			}
			waitFor(t, w, canary+tc.holds)
		})
	}
}

func TestHoldForAReplacedDirectoryStaysUntilAccepted(t *testing.T) {
	t.Parallel()
	s, w := watched(t, 10*time.Millisecond)
	must(t, replaceDir(s.Persistent))
	waitFor(t, w, doubt+" a:drain")
	const told = `the directory was replaced; its former holds are not known; ` +
		`"systemctl reload pmcheck" accepts it as it is`
	if h := w.Current().Holds()[0]; h.Path != s.Persistent || h.Error != told {
		t.Errorf("%s: %s", h.Path, h.Error)
	}
	if got := describe(s.Watch().Current().Holds()); got != "a:drain" {
		t.Errorf("a new watcher sees %s", got)
	}
	if _, err := s.Lift(drain.Directory, ""); !errors.Is(err, drain.ErrNotFound) {
		t.Errorf("%v, want %v: no file holds", err, drain.ErrNotFound)
	}
	_, err := s.LiftAll()
	must(t, err)
	waitFor(t, w, doubt) // no lift accepts it
	w.Accept()
	waitFor(t, w, "")
}

// The first directory that a watcher sees replaces none.
func TestFirstDirectoryReplacesNothing(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	must(t, os.Remove(s.Persistent))
	w := watch(t, s, 10*time.Millisecond)
	waitFor(t, w, doubt)
	must(t, os.Mkdir(s.Persistent, 0o755))
	waitFor(t, w, "")
}

// A directory that is missing when the others are accepted is not accepted with them.
func TestMissingDirectoryIsNotAccepted(t *testing.T) {
	t.Parallel()
	s, w := watched(t, 10*time.Millisecond)
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
	waitUntil(t, w, func() bool { return strings.Contains(w.Current().Holds()[0].Error, "was replaced") })
}
