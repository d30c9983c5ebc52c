package systemd

import (
	"os"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/dbus"
)

// A crash explains the start that follows it, and no later one. The properties are those of systemd 247, 252
// and 257.
func TestACrashExplainsNoStartByHand(t *testing.T) {
	for _, tt := range []struct {
		name     string
		result   string
		restarts uint32
		want     string
	}{
		{"crashed", "oom-kill", 3, "ended with result oom-kill"},
		{"restarted by systemd", "success", 1, "has ended"},
		{"started by hand after that", "success", 0, ""},
	} {
		if got := ended(map[string]any{"Result": tt.result, "NRestarts": tt.restarts}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTheUnitThatRunsIsWatched(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b string // the states of two units
		want UnitState
	}{
		{"none", "", "", UnitState{}},
		{"the only one", "", "failed", UnitState{Unit: "b", Active: "failed"}},
		{"beside one that has failed", "failed", "active", UnitState{Unit: "b", Active: "active"}},
		{"beside one that was stopped", "inactive", "reloading", UnitState{Unit: "b", Active: "reloading"}},
		{"the first of two", "activating", "active", UnitState{Unit: "a", Active: "activating"}},
		{"none of two", "inactive", "failed", UnitState{Unit: "a", Active: "inactive"}},
		{"the start of one waits", "failed", "inactive, to be started", UnitState{Unit: "b", Active: "activating"}},
	} {
		units := []dbus.UnitStatus{{Name: "a", ActiveState: tt.a}, {Name: "b", ActiveState: tt.b}}
		for i, u := range units {
			units[i].LoadState = "loaded"
			if state, waits := strings.CutSuffix(u.ActiveState, ", to be started"); waits {
				units[i].ActiveState, units[i].JobType = state, "start"
			}
			if u.ActiveState == "" {
				units[i].LoadState, units[i].ActiveState = "not-found", "inactive"
			}
		}
		if got := choose(units); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestAGuardThatRunsIsSeen: only a guard that is active drains the master before its unit stops.
func TestAGuardThatRunsIsSeen(t *testing.T) {
	for state, want := range map[string]bool{
		"active":       true,
		"deactivating": true, // it drains the master now
		"activating":   false,
		"inactive":     false,
		"failed":       false,
	} {
		guards := []dbus.UnitStatus{{Name: "pmcheck-guard@b.service", LoadState: "loaded", ActiveState: state}}
		if got := isGuarded(guards); got != want {
			t.Errorf("guard %s: %v, want %v", state, got, want)
		}
	}
	if isGuarded(nil) {
		t.Error("a guard that is not loaded guards")
	}
}

// TestControlGroupHasAnIDWhileItIsThere: systemd names a group by its path below the root of version 2.
func TestControlGroupHasAnIDWhileItIsThere(t *testing.T) {
	if got := cgroupID("/no.slice/such.service") + cgroupID(""); got != 0 {
		t.Errorf("%d for no group, want 0", got)
	}
	for _, file := range []string{"/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/unified/cgroup.controllers"} {
		if _, err := os.Stat(file); err == nil && cgroupID("/") == 0 {
			t.Errorf("no id for the group of %s", file)
		}
	}
}

func TestUserByNameOrNumber(t *testing.T) {
	for name, want := range map[string]uint32{"root": 0, "": 0, "4242": 4242, "nobody-of-this-name": 0} {
		if got := userID(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}
