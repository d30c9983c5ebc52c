package systemd

import (
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
)

// A crash explains the start that follows it, and no later one.
func TestACrashIsForgottenOnceTheUnitRunsOrStops(t *testing.T) {
	const crash = "was killed by signal 9 at 10:31:05"
	for _, tt := range []struct{ active, want string }{
		{"inactive", crash}, // between the crash and the start, for a moment
		{"active", ""},
		{"reloading", ""},
		{"deactivating", ""},
	} {
		w := &unitWatch{last: UnitState{Unit: "puppetserver.service", Active: "activating", Ended: crash}}
		next := w.last
		next.Active = tt.active
		if got := w.explain(t.Context(), nil, next).Ended; got != tt.want {
			t.Errorf("%s after a crash: ended %q, want %q", tt.active, got, tt.want)
		}
	}
}

// The properties are those of systemd 247, 252 and 257.
func TestACrashExplainsNoStartByHand(t *testing.T) {
	const crash = "was killed by signal 9 at 10:31:05"
	at := time.Date(2026, 11, 20, 10, 31, 5, 0, time.Local)
	for _, tt := range []struct {
		name     string
		result   string
		killed   bool
		restarts any
		before   string
		want     string
	}{
		{"first crash", "signal", true, uint32(0), "", crash},
		{"restarted by systemd", "success", false, uint32(1), crash, crash},
		{"crashed too often", "signal", true, uint32(3), crash, crash},
		{"started by hand after that", "success", false, uint32(0), crash, ""},
		{"restarted by hand before systemd did", "success", false, uint32(0), crash, ""},
		{"a systemd that does not count", "success", false, nil, crash, crash},
	} {
		p := map[string]any{"Result": tt.result, "NRestarts": tt.restarts}
		if tt.killed {
			p["ExecMainCode"], p["ExecMainStatus"] = int32(cldKilled), int32(9)
			p["ExecMainExitTimestamp"] = uint64(at.UnixMicro())
		}
		if got := ended(p, tt.before); got != tt.want {
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
