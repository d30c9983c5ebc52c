package drain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

const never = 1000 * time.Hour

// start runs a watcher of s until the test ends.
func start(t *testing.T, s *drain.Store, w *drain.Watcher) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { w.Run(ctx) })
	t.Cleanup(wg.Wait)
	t.Cleanup(cancel)
}

// waitFor waits for the holds to be want.
func waitFor(t *testing.T, w *drain.Watcher, want string) {
	t.Helper()
	waitUntil(t, w, want, func() string { return describe(w.Current().Holds()) })
}

// waitUntil waits until get returns want.
func waitUntil(t *testing.T, w *drain.Watcher, want string, get func() string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		got := get()
		if got == want {
			return
		}
		select {
		case <-w.Changes():
		case <-deadline:
			t.Fatalf("still %q, want %q", got, want)
		}
	}
}

// watched returns a running watcher that has seen its first hold, so that the
// kernel's watches are set.
func watched(t *testing.T, interval time.Duration) (*drain.Store, *drain.Watcher) {
	t.Helper()
	s, _ := newStore(t)
	w := s.Watch()
	w.SetInterval(interval)
	start(t, s, w)
	put(t, s, drain.Hold{Holder: "first", Mode: drain.Drain})
	waitFor(t, w, "first:drain")
	return s, w
}

// The watcher has no interval, so it sees only what the kernel reports.
func TestWatchFollowsEachChange(t *testing.T) {
	t.Parallel()
	s, w := watched(t, never)
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"put", func() error {
			_, err := s.Put(drain.Hold{Holder: "a", Mode: drain.Maint, UntilReboot: true})
			return err
		}, "a:maint:reboot first:drain"},
		{"update", func() error {
			_, err := s.Put(drain.Hold{Holder: "a", Mode: drain.Drain, UntilReboot: true})
			return err
		}, "a:drain:reboot first:drain"},
		{"lift", func() error { _, err := s.Lift("a", ""); return err }, "first:drain"},
		{"write in place", func() error {
			return os.WriteFile(filepath.Join(s.Persistent, "first.json"), []byte(`{"mode":"maint"}`), 0o644)
		}, "first:maint"},
		{"permissions", func() error {
			return os.Chmod(filepath.Join(s.Persistent, "first.json"), 0o666)
		}, "first:maint:hold-unreadable"},
		{"shell", func() error {
			tmp := filepath.Join(s.Persistent, ".b.tmp")
			return errors.Join(os.WriteFile(tmp, []byte(`{"mode":"drain"}`), 0o644),
				os.Rename(tmp, filepath.Join(s.Persistent, "first.json")))
		}, "first:drain"},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		waitFor(t, w, step.want)
	}
}

// TestWatchReadsWhatNoEventReports: mounts, a clock that is set, and directories that come and go.
func TestWatchReadsWhatNoEventReports(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	w := s.Watch()
	w.SetInterval(10 * time.Millisecond)
	start(t, s, w)
	const bad = "directory:maint:hold-unreadable"
	outside := t.TempDir()
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"directory removed", func() error { return os.RemoveAll(s.Persistent) }, bad},
		{"directory created", func() error { return os.Mkdir(s.Persistent, 0o755) }, bad},
		{"hold in the new directory", func() error {
			return os.WriteFile(filepath.Join(s.Persistent, "b.json"), []byte(`{"mode":"drain"}`), 0o644)
		}, bad + " b:drain"},
		{"new directory accepted", func() error { w.Accept(); return nil }, "b:drain"},
		{"directory moved away", func() error { return os.Rename(s.Persistent, filepath.Join(outside, "old")) }, bad},
		{"directory moved back", func() error { return os.Rename(filepath.Join(outside, "old"), s.Persistent) }, "b:drain"},
		{"directory exchanged", func() error {
			return errors.Join(os.Mkdir(s.Persistent+".new", 0o755), exchange(s.Persistent, s.Persistent+".new"))
		}, bad},
		{"parent removed", func() error { return os.RemoveAll(filepath.Dir(s.Persistent)) }, bad},
		{"all created", func() error {
			created := os.Mkdir(filepath.Dir(s.Persistent), 0o755)
			_, err := s.LiftAll()
			w.Accept()
			return errors.Join(created, err)
		}, ""},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		waitFor(t, w, step.want)
	}
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, Until: hours(1)})
	waitFor(t, w, "a:drain")
	c.set(hours(2)) // is a change: the hold has ended
	waitUntil(t, w, hours(2).String(), func() string { return w.Current().Taken().String() })
}
