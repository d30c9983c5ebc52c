package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestLiftAllIncludesInitialUnreadableAndExpiredHolds(t *testing.T) {
	s, c := newStore(t)
	s.Initial = drain.Maint
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, Until: hours(1)})
	put(t, s, drain.Hold{Holder: "b", Service: "ca", Mode: drain.Drain, UntilReboot: true})
	drop(t, s.UntilReboot, "c.json", "{")
	must(t, os.Symlink("/nowhere", filepath.Join(s.Persistent, "d.json")))
	c.set(hours(2))
	lifted, err := s.LiftAll()
	const want = "c:maint:reboot:hold-unreadable d:maint:hold-unreadable initial:maint a:drain b@ca:drain:reboot"
	if got := describe(lifted); got != want || err != nil {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	wantMode(t, s, "ca", drain.Ready)
	if lifted, err := s.LiftAll(); len(lifted) != 0 || err != nil {
		t.Errorf("once more: %s, %v", describe(lifted), err)
	}
}

// A hold that cannot be removed stays in effect, and a new host stays new.
func TestHoldThatCannotBeRemovedStays(t *testing.T) {
	s, _ := newStore(t)
	s.Initial = drain.Drain
	must(t, os.MkdirAll(filepath.Join(s.Persistent, "operator.json", "full"), 0o755))
	lifted, err := s.Lift(drain.Operator, "")
	if len(lifted) != 0 || err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("lifted %s, %v; want nothing and one error", describe(lifted), err)
	}
	wantHolds(t, s, "operator:maint:hold-unreadable initial:drain")
}
