package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// A replacement is a step of TestReplacedDirectoryIsAHold: what happens to a directory, or to what reads it, and the
// holds that a watcher sees then.
type replacement struct {
	do    func(dir string, s *drain.Store, w *drain.Watcher) error
	holds string
	says  string // in the error of the first hold
}

// in is a step in which something happens to the directory alone.
func in(do func(dir string) error, holds, says string) replacement {
	return replacement{func(dir string, _ *drain.Store, _ *drain.Watcher) error { return do(dir) }, holds, says}
}

// Until it is accepted, a directory that has replaced another one does not prove that there are no holds. The first
// one that a watcher sees replaces none.
func TestReplacedDirectoryIsAHold(t *testing.T) {
	t.Parallel()
	accept := func(holds string) replacement {
		return replacement{func(_ string, _ *drain.Store, w *drain.Watcher) error { w.Accept(); return nil }, holds, ""}
	}
	liftAll := func(_ string, s *drain.Store, _ *drain.Watcher) error { _, err := s.LiftAll(); return err }
	nothing := func(string) error { return nil }
	create := func(dir string) error { return os.MkdirAll(dir, 0o755) }
	moveAway := func(dir string) error { return os.Rename(dir, dir+".old") }
	link := func(dir string) error {
		return errors.Join(os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
	}
	replace := func(dir string) error {
		return errors.Join(moveAway(dir), create(dir),
			os.WriteFile(filepath.Join(dir, "a.json"), []byte(drained), 0o644))
	}
	const missing, reload, both = `"pmcheck ready" creates it`, `"systemctl reload pmcheck" accepts it`, doubt + " a:drain"
	for _, tc := range []struct {
		name   string
		before func(dir string) error // before the watcher runs
		steps  []replacement
	}{
		{"another in its place", nothing, []replacement{in(replace, both, reload), {liftAll, doubt, reload}, accept("")}},
		{"link to another", nothing, []replacement{
			in(func(dir string) error { return errors.Join(replace(dir), link(dir)) }, both, reload), accept("a:drain"),
		}},
		{"with its parent", nothing, []replacement{
			in(func(dir string) error { return os.RemoveAll(filepath.Dir(dir)) }, doubt, ""),
			in(create, doubt, reload), accept(""),
		}},
		{"moved and linked to", nothing, []replacement{in(link, "", "")}},
		{"moved away and back", nothing, []replacement{in(func(dir string) error {
			return errors.Join(replace(dir), os.RemoveAll(dir), os.Rename(dir+".old", dir))
		}, "", "")}},
		{"other permissions and times", nothing, []replacement{in(func(dir string) error {
			return errors.Join(os.Chmod(dir, 0o750), os.Chtimes(dir, noon, noon), os.Chmod(dir, 0o755))
		}, "", "")}},
		{"the first", os.Remove, []replacement{in(nothing, doubt, missing), in(create, "", "")}},
		{"missing when the others are accepted", nothing, []replacement{
			in(moveAway, doubt, missing), accept(doubt), in(nothing, doubt, missing), in(create, doubt, reload),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newStore(t)
			must(t, tc.before(s.Persistent))
			w := watch(t, s, 10*time.Millisecond)
			for i, step := range tc.steps {
				must(t, step.do(s.Persistent, s, w))
				// A hold in the other directory shows that w has read this one since.
				since := put(t, s, drain.Hold{Holder: "step", Mode: drain.Maint, Reason: tc.name[i:], UntilReboot: true})
				waitUntil(t, w, func() bool {
					list := w.Current().Holds()
					at := slices.Index(list, since)
					if at < 0 {
						return false
					}
					list = slices.Delete(list, at, at+1)
					return describe(list) == step.holds && (step.says == "" || strings.Contains(list[0].Error, step.says))
				})
			}
		})
	}
}
