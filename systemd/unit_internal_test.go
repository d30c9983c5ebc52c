package systemd

import "testing"

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
