package drain_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
	"golang.org/x/sys/unix"
)

func TestNewHostIsHeldUntilLifted(t *testing.T) {
	s, _ := newStore(t)
	s.Initial = drain.Maint
	wantHolds(t, s, "initial:maint")
	wantMode(t, s, "ca", drain.Maint)
	put(t, s, drain.Hold{Holder: "operator", Mode: drain.Drain, Until: hours(1)})
	put(t, s, drain.Hold{Holder: "upgrade", Mode: drain.Drain})
	if _, err := s.Lift("upgrade", ""); err != nil {
		t.Error(err)
	}
	wantHolds(t, s, "initial:maint operator:drain") // neither makes a new host ready
	lifted, err := s.Lift("operator", "")
	if got := describe(lifted); got != "initial:maint operator:drain" || err != nil {
		t.Errorf("lifted %s, %v", got, err)
	}
	wantHolds(t, s, "")
	if _, err := s.Lift("operator", ""); !errors.Is(err, drain.ErrNotFound) {
		t.Errorf("lifted twice: %v", err)
	}
}

func TestInitialDoesNotCountWhereReady(t *testing.T) {
	s, _ := newStore(t)
	for _, m := range []drain.Mode{"", drain.Ready} {
		s.Initial = m
		wantHolds(t, s, "")
	}
	s.Initial = drain.Drain
	wantMode(t, s, "", drain.Drain)
	if _, err := s.Lift(drain.Initial, ""); err != nil {
		t.Error(err)
	}
	s.Initial = drain.Maint
	wantMode(t, s, "", drain.Ready)
}

func TestFreshHostIsInMaintUntilLift(t *testing.T) {
	old := unix.Umask(0o077)
	t.Cleanup(func() { unix.Umask(old) })
	root := t.TempDir()
	s := &drain.Store{Persistent: filepath.Join(root, "var", "holds"), UntilReboot: filepath.Join(root, "run", "holds")}
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
	for _, dir := range []string{"var", "var/holds", "run", "run/holds"} {
		if fi, err := os.Stat(filepath.Join(root, dir)); err != nil || fi.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v, %v", dir, fi.Mode(), err)
		}
	}
	stored := put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	if fi, err := os.Stat(stored.Path); err != nil || fi.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v: others cannot read it", fi.Mode(), err)
	}
}
