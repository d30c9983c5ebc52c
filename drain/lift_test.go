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

func TestLiftRemovesOnlyTheNamedHold(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain})
	put(t, s, drain.Hold{Holder: "operator", Service: "ca", Mode: drain.Maint})
	put(t, s, drain.Hold{Holder: "upgrade", Mode: drain.Drain, UntilReboot: true})
	drop(t, s.Persistent, "upgrade.json", "{")
	drop(t, s.Persistent, "Bad Name@x.json", "{")
	for _, tc := range []struct{ holder, service, lifted, left string }{
		{"operator", "", "operator:drain",
			"Bad Name@x:maint:hold-unreadable operator@ca:maint upgrade:maint:hold-unreadable upgrade:drain:reboot"},
		{"operator", "ca", "operator@ca:maint",
			"Bad Name@x:maint:hold-unreadable upgrade:maint:hold-unreadable upgrade:drain:reboot"},
		{"upgrade", "", "upgrade:maint:hold-unreadable upgrade:drain:reboot", "Bad Name@x:maint:hold-unreadable"},
		{"Bad Name@x", "", "Bad Name@x:maint:hold-unreadable", ""},
	} {
		lifted, err := s.Lift(tc.holder, tc.service)
		if got := describe(lifted); got != tc.lifted || err != nil {
			t.Errorf("%s: lifted %s, %v; want %s", tc.holder, got, err, tc.lifted)
		}
		wantHolds(t, s, tc.left)
	}
}

func TestLiftWithoutAHoldIsNotFound(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	drop(t, filepath.Dir(s.Persistent), "x.json", "{}")
	for _, name := range []string{"operator", "", ".a", "../x", "a@b"} {
		if lifted, err := s.Lift(name, ""); !errors.Is(err, drain.ErrNotFound) || len(lifted) != 0 {
			t.Errorf("%q: %s, %v", name, describe(lifted), err)
		}
	}
	wantHolds(t, s, "a:drain")
	if _, err := os.Stat(filepath.Join(filepath.Dir(s.Persistent), "x.json")); err != nil {
		t.Error(err)
	}
}

func TestLiftAllIncludesUnreadableAndExpiredHolds(t *testing.T) {
	s, c := newStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, Until: hours(1)})
	put(t, s, drain.Hold{Holder: "b", Service: "ca", Mode: drain.Drain, UntilReboot: true})
	drop(t, s.UntilReboot, "c.json", "{")
	must(t, os.Symlink("/nowhere", filepath.Join(s.Persistent, "d.json")))
	c.set(hours(2))
	lifted, err := s.LiftAll()
	const want = "c:maint:reboot:hold-unreadable d:maint:hold-unreadable a:drain b@ca:drain:reboot"
	if got := describe(lifted); got != want || err != nil {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	wantMode(t, s, "ca", drain.Ready)
	if lifted, err := s.LiftAll(); len(lifted) != 0 || err != nil {
		t.Errorf("once more: %s, %v", describe(lifted), err)
	}
}

// A hold that cannot be removed stays in effect.
func TestHoldThatCannotBeRemovedStays(t *testing.T) {
	s, _ := newStore(t)
	must(t, os.MkdirAll(filepath.Join(s.Persistent, "operator.json", "full"), 0o755))
	lifted, err := s.Lift(drain.Operator, "")
	if len(lifted) != 0 || err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("lifted %s, %v; want nothing and one error", describe(lifted), err)
	}
	wantHolds(t, s, "operator:maint:hold-unreadable")
}

func TestFreshHostIsInMaintUntilLift(t *testing.T) {
	old := unix.Umask(0o077)
	t.Cleanup(func() { unix.Umask(old) })
	root := t.TempDir()
	s := &drain.Store{Persistent: filepath.Join(root, "var", "holds"), UntilReboot: filepath.Join(root, "run", "holds")}
	if _, err := s.LiftAll(); err == nil {
		t.Error("directories were created where pmcheck is not installed")
	}
	must(t, os.Mkdir(filepath.Dir(s.Persistent), 0o755))
	must(t, os.Mkdir(filepath.Dir(s.UntilReboot), 0o755))
	snap := s.Read()
	if mode, _ := snap.Mode("", time.Now()); mode != drain.Maint {
		t.Errorf("mode %s", mode)
	}
	for _, h := range snap.Holds() {
		if h.Holder != drain.Directory || h.Code != drain.Unreadable || !strings.Contains(h.Error, h.Path) ||
			!strings.Contains(h.Error, "pmcheck ready") {
			t.Errorf("hold %+v", h)
		}
	}
	if _, err := s.Lift("operator", ""); !errors.Is(err, drain.ErrNotFound) {
		t.Error(err)
	}
	wantHolds(t, &drain.Store{Persistent: s.Persistent, UntilReboot: s.UntilReboot, Now: time.Now}, "")
	for _, dir := range []string{"var/holds", "run/holds"} {
		if fi, err := os.Stat(filepath.Join(root, dir)); err != nil || fi.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", dir, fi.Mode(), err)
		}
	}
	stored := put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	if fi, err := os.Stat(stored.Path); err != nil || fi.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v: others cannot read it", fi.Mode(), err)
	}
}
