package drain_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

func watch(t *testing.T, s *drain.Store, interval time.Duration) *drain.Watcher {
	t.Helper()
	w := s.Watch()
	w.SetInterval(interval)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(ctx) })
	t.Cleanup(wg.Wait)
	t.Cleanup(cancel)
	return w
}

func waitFor(t *testing.T, w *drain.Watcher, want string) {
	t.Helper()
	waitUntil(t, w, func() bool { return describe(w.Current().Holds()) == want })
}

// waitUntil waits for a change after which done returns true.
func waitUntil(t *testing.T, w *drain.Watcher, done func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !done() {
		select {
		case <-w.Changes():
		case <-deadline:
			t.Fatalf("the holds stay %q", describe(w.Current().Holds()))
		}
	}
}

// The watcher has no interval, so it sees only what the kernel reports.
func TestWatchFollowsEachChange(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	w := watch(t, s, 1000*time.Hour)
	first := put(t, s, drain.Hold{Holder: "first", Mode: drain.Drain}).Path
	waitFor(t, w, "first:drain")
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Maint, UntilReboot: true})
	waitFor(t, w, "a:maint:reboot first:drain")
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, UntilReboot: true})
	waitFor(t, w, "a:drain:reboot first:drain")
	_, err := s.Lift("a", "")
	must(t, err)
	waitFor(t, w, "first:drain")
	must(t, os.WriteFile(first, []byte(`{"mode":"maint"}`), 0o644)) // in place
	waitFor(t, w, "first:maint")
	must(t, os.Chmod(first, 0o666))
	waitFor(t, w, "first:maint:hold-unreadable")
	drop(t, s.Persistent, ".b.tmp", `{"mode":"drain"}`) // as a shell script does it
	must(t, os.Rename(filepath.Join(s.Persistent, ".b.tmp"), first))
	waitFor(t, w, "first:drain")
}

// A clock that is set is no event: the hold has ended.
func TestWatchSeesTheEndOfAHold(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain, Until: hours(1)})
	w := watch(t, s, 10*time.Millisecond)
	c.set(hours(2))
	waitUntil(t, w, func() bool { mode, _ := w.Current().Mode("server", hours(2)); return mode == drain.Ready })
}
