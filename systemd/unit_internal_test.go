package systemd

import (
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
		{"first crash", "signal", 0, "ended with result signal"},
		{"restarted by systemd", "success", 1, "has crashed"},
		{"crashed too often", "oom-kill", 3, "ended with result oom-kill"},
		{"started by hand after that", "success", 0, ""},
	} {
		if got := ended(map[string]any{"Result": tt.result, "NRestarts": tt.restarts}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTheUnitThatRunsIsWatched(t *testing.T) {
	unit := func(name, load, active string) dbus.UnitStatus {
		return dbus.UnitStatus{Name: name, LoadState: load, ActiveState: active}
	}
	missing := unit("pe", "not-found", "inactive")
	for _, tt := range []struct {
		name  string
		units []dbus.UnitStatus
		want  UnitState
	}{
		{"none", []dbus.UnitStatus{missing}, UnitState{}},
		{"the only one", []dbus.UnitStatus{missing, unit("a", "loaded", "failed")}, UnitState{Unit: "a", Active: "failed"}},
		{"beside one that has failed", []dbus.UnitStatus{unit("a", "loaded", "failed"), unit("b", "loaded", "active")},
			UnitState{Unit: "b", Active: "active"}},
		{"beside one that was stopped", []dbus.UnitStatus{unit("a", "loaded", "inactive"), unit("b", "loaded", "reloading")},
			UnitState{Unit: "b", Active: "reloading"}},
		{"the first of two", []dbus.UnitStatus{unit("a", "loaded", "activating"), unit("b", "loaded", "active")},
			UnitState{Unit: "a", Active: "activating"}},
		{"none of two", []dbus.UnitStatus{unit("a", "loaded", "inactive"), unit("b", "loaded", "failed")},
			UnitState{Unit: "a", Active: "inactive"}},
	} {
		if got := choose(tt.units); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
