package drain

import (
	"testing"
	"time"
)

// TestPauseDependsOnWhatTheKernelReports: a directory that is not watched is read often, and the
// end of a hold is never missed.
func TestPauseDependsOnWhatTheKernelReports(t *testing.T) {
	now := time.Now()
	ends := func(in time.Duration) Hold { return Hold{Holder: "a", Mode: Drain, Until: now.Add(in)} }
	for _, tt := range []struct {
		name       string
		sees, told bool
		holds      []Hold
		want       time.Duration
	}{
		{"all is reported", true, true, nil, seldom},
		{"a directory is not watched", false, true, nil, often},
		{"mounts are not reported", true, false, nil, often},
		{"a hold without an end", true, true, []Hold{{Holder: "a", Mode: Drain}}, seldom},
		{"a hold ends soon", true, true, []Hold{ends(time.Hour), ends(3 * time.Second)}, 3 * time.Second},
		{"a hold has ended", true, true, []Hold{ends(-time.Second)}, seldom},
	} {
		w := &Watcher{store: &Store{Now: func() time.Time { return now }}, seldom: seldom, often: often, sees: tt.sees}
		w.told.Store(tt.told)
		w.current.Store(&Snapshot{taken: now, holds: tt.holds})
		if got := w.pause(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
