package drain_test

import (
	"os"
	"path/filepath"
	"testing"

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
	const bad = "Bad Name@x:maint:hold-unreadable"
	for _, tc := range []struct{ holder, service, lifted, left string }{
		{"operator", "", "operator:drain",
			bad + " operator@ca:maint upgrade:maint:hold-unreadable upgrade:drain:reboot"},
		{"operator", "ca", "operator@ca:maint", bad + " upgrade:maint:hold-unreadable upgrade:drain:reboot"},
		{"upgrade", "", "upgrade:maint:hold-unreadable upgrade:drain:reboot", bad},
		{"Bad Name@x", "", bad, ""},
	} {
		lifted, err := s.Lift(tc.holder, drain.Service(tc.service))
		if got := describe(lifted); got != tc.lifted || err != nil {
			t.Errorf("%s: lifted %s, %v; want %s", tc.holder, got, err, tc.lifted)
		}
		wantHolds(t, s, tc.left)
	}
}

func TestLiftWithoutAHoldLiftsNothing(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	drop(t, filepath.Dir(s.Persistent), "x.json", "{}")
	for _, name := range []string{"operator", "", "../x"} {
		if lifted, err := s.Lift(name, ""); err != nil || len(lifted) != 0 {
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
	for _, want := range []string{"c:maint:reboot:hold-unreadable d:maint:hold-unreadable a:drain b@ca:drain:reboot", ""} {
		lifted, err := s.LiftAll()
		if got := describe(lifted); got != want || err != nil {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	}
	wantHolds(t, s, "")
}

// The daemon, another user than the commands, can read what a lift creates, whatever the umask.
func TestFreshHostIsInMaintUntilLift(t *testing.T) {
	old := unix.Umask(0o077)
	t.Cleanup(func() { unix.Umask(old) })
	s, _ := newStore(t)
	must(t, os.RemoveAll(filepath.Dir(s.Persistent)))
	must(t, os.RemoveAll(filepath.Dir(s.UntilReboot)))
	if _, err := s.LiftAll(); err == nil {
		t.Error("directories were created where pmcheck is not installed")
	}
	must(t, os.Mkdir(filepath.Dir(s.Persistent), 0o755))
	must(t, os.Mkdir(filepath.Dir(s.UntilReboot), 0o755))
	wantHolds(t, s, "directory:maint:reboot:hold-unreadable "+doubt)
	_, err := s.Lift("operator", "")
	must(t, err)
	wantHolds(t, s, "")
	file := put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain}).Path
	for path, want := range map[string]os.FileMode{s.Persistent: 0o755, s.UntilReboot: 0o755, file: 0o644} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, fi.Mode(), err, want)
		}
	}
}
