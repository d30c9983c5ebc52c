package drain_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// A stall makes the file system of a directory hang.
type stall struct {
	hung    atomic.Bool
	begun   atomic.Int32  // operations that have begun since it hangs
	answers chan struct{} // closed when it is mended
}

// stallOf returns the stall of a directory, which begins with hang. An operation is given up soon.
func stallOf(t *testing.T, s *drain.Store, dir string) *stall {
	t.Helper()
	f := &stall{answers: make(chan struct{})}
	s.SetLimit(500 * time.Millisecond) // a busy disk syncs within that
	s.SetEntered(func(entered string) {
		if entered == dir && f.hung.Load() && f.begun.Add(1) > 0 {
			<-f.answers
		}
	})
	t.Cleanup(f.mend)
	return f
}

// hang makes the file system hang, after so many more operations.
func (f *stall) hang(after int32) {
	f.begun.Store(-after)
	f.hung.Store(true)
}

// mend ends the stall.
func (f *stall) mend() {
	if f.hung.Swap(false) {
		close(f.answers)
	}
}

func TestHungDirectoryKeepsItsLastReading(t *testing.T) {
	t.Parallel()
	s, c := newQuickStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, Leaving: drain.LeavingInTurn})
	f := stallOf(t, s, s.Persistent)
	w := watch(t, s, 10*time.Millisecond)
	f.hang(0)
	waitUntil(t, w, func() bool { return len(w.Current().Hangs()) == 1 })
	since := w.Current().Hangs()[0]
	if since.Path != s.Persistent || since.Since != noon {
		t.Errorf("%+v hangs", since)
	}

	// A week later the last reading still counts, and the other directory is followed as before.
	c.set(hours(7 * 24))
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain, Leaving: drain.LeavingBesideSpare, UntilReboot: true})
	waitFor(t, w, "a:drain b:drain:reboot")
	if got := w.Current().Leaving("server", hours(7*24)); got != drain.LeavingBesideSpare {
		t.Errorf("leaving %q", got)
	}

	f.mend()
	waitUntil(t, w, func() bool { return len(w.Current().Hangs()) == 0 })
	waitFor(t, w, "a:drain b:drain:reboot")
}

func TestDirectoryThatWasNeverReadIsMaintByView(t *testing.T) {
	t.Parallel()
	s, _ := newQuickStore(t)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	put(t, s, drain.Hold{Holder: "b", Mode: drain.Drain, Leaving: drain.LeavingInTurn, UntilReboot: true})
	f := stallOf(t, s, s.Persistent)
	f.hang(0)
	w := watch(t, s, 10*time.Millisecond)
	waitFor(t, w, doubt+" b:drain:reboot")
	if got := w.Current().Holds()[0]; got.Leaving != drain.LeavingByView {
		t.Errorf("%+v", got)
	}
	if hangs := w.Current().Hangs(); len(hangs) != 1 || !hangs[0].Since.IsZero() {
		t.Errorf("%+v hangs", hangs)
	}
	f.mend()
	waitFor(t, w, "a:drain b:drain:reboot")
	if mode, leaving := mode(w), w.Current().Leaving("server", noon); mode != drain.Drain || leaving != drain.Firm {
		t.Errorf("%s, leaving %q", mode, leaving)
	}
}

func mode(w *drain.Watcher) drain.Mode {
	mode, _ := w.Current().Mode("server", noon)
	return mode
}

// A file system that hangs ends each command, blocks one thread of the process and no more, and does not keep the holds
// in the other directory from being written, read and lifted.
func TestHungDirectoryStopsNoCommand(t *testing.T) {
	t.Parallel()
	s, _ := newQuickStore(t)
	kept := put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	replaced := put(t, s, drain.Hold{Holder: "guard", Mode: drain.Drain, UntilReboot: true})
	f := stallOf(t, s, s.Persistent)
	f.hang(0)

	held := put(t, s, drain.Hold{Holder: "guard", Mode: drain.Maint, UntilReboot: true})
	wantHolds(t, s, doubt+" guard:maint:reboot")
	snap := s.Read()
	if err := snap.Hung(drain.Hold{Path: filepath.Join(s.Persistent, "a.json")}); !errors.Is(err, drain.ErrHangs) {
		t.Errorf("the hold a: %v", err)
	}
	if err := snap.Hung(held); err != nil {
		t.Errorf("the hold guard: %v", err)
	}
	if snap.Lacks(kept) || snap.Lacks(held) || !snap.Lacks(replaced) {
		t.Error("it lacks a hold that may be there, or has one that was replaced")
	}

	_, putErr := tryPut(s, drain.Hold{Holder: "b", Mode: drain.Drain})
	_, liftErr := s.Lift("a", "")
	lifted, allErr := s.LiftAll()
	for _, err := range []error{putErr, liftErr, allErr} {
		at, is := errors.AsType[*fs.PathError](err)
		if !is || !errors.Is(err, drain.ErrHangs) || at.Path != s.Persistent {
			t.Errorf("error %v", err)
		}
	}
	if got := describe(lifted); got != "guard:maint:reboot" {
		t.Errorf("lifted %s", got)
	}

	wantHolds(t, s, doubt)
	if n := f.begun.Load(); n != 1 {
		t.Errorf("%d operations began", n)
	}
	f.mend()
	waitUntilRead(t, s, "a:drain")
}

// waitUntilRead reads until the blocked operation has ended.
func waitUntilRead(t *testing.T, s *drain.Store, want string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for describe(s.Read().Holds()) != want {
		if time.Now().After(deadline) {
			t.Fatalf("the holds stay %s", describe(s.Read().Holds()))
		}
		runtime.Gosched()
	}
}

// A caller that was told of a hang has gone another way: what it wanted must not happen when the file system answers.
func TestGivenUpWriteIsNotDoneLater(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]drain.Mode{"beside nothing": "", "in place of another": drain.Drain} {
		t.Run(name, func(t *testing.T) {
			s, _ := newQuickStore(t)
			want := ""
			if old != "" {
				put(t, s, drain.Hold{Holder: "a", Mode: old})
				want = "a:" + string(old)
			}
			f := stallOf(t, s, s.Persistent)
			f.hang(2) // after the look and the check that there is a directory
			_, err := tryPut(s, drain.Hold{Holder: "a", Mode: drain.Maint})
			if at, is := errors.AsType[*fs.PathError](err); !is || at.Op != "write" || !errors.Is(err, drain.ErrHangs) {
				t.Fatalf("error %v", err)
			}
			f.mend()
			waitUntilRead(t, s, want)
			if left, _ := filepath.Glob(filepath.Join(s.Persistent, ".a*")); len(left) != 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// A directory that was lost is as firm as the holds that were read in it last, for each service.
func TestLostDirectoryIsAsFirmAsItWas(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		files  files
		master drain.Leaving
		ca     drain.Leaving
	}{
		{"no hold", nil, drain.LeavingByView, drain.LeavingByView},
		{"firm", files{"a": drained}, drain.Firm, drain.Firm},
		{"in turn", files{"a": turn}, drain.LeavingInTurn, drain.LeavingInTurn},
		{"the firmest", files{"a": turn, "b": spare}, drain.LeavingBesideSpare, drain.LeavingBesideSpare},
		{"of one service", files{"a@ca": drained}, drain.LeavingByView, drain.Firm},
		{"over", files{"a": over}, drain.LeavingByView, drain.LeavingByView},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := newQuickStore(t)
			for name, content := range tc.files {
				drop(t, s.Persistent, name+".json", content)
			}
			w := watch(t, s, 10*time.Millisecond)
			must(t, os.Rename(s.Persistent, s.Persistent+".old"))
			waitUntil(t, w, func() bool { return lost(w) })
			for service, want := range map[drain.Service]drain.Leaving{drain.Master: tc.master, "ca": tc.ca} {
				mode, _ := w.Current().Mode(service, noon)
				if got := w.Current().Leaving(service, noon); got != want || mode != drain.Maint {
					t.Errorf("/%s: %s, leaving %q, want maint, %q", service, mode, got, want)
				}
			}
		})
	}
}

func lost(w *drain.Watcher) bool {
	holds := w.Current().Holds()
	return len(holds) > 0 && holds[0].Holder == drain.Directory
}

// TestLacks: of a hold that cannot be read it is not known whether it is there.
func TestLacks(t *testing.T) {
	s, _ := newQuickStore(t)
	kept := put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	wants := func(what string, want bool) {
		t.Helper()
		if got := s.Read().Lacks(kept); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	chmod := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	wants("it is there", false)
	chmod(s.Persistent, 0o777)
	wants("a directory that is not trusted", false)
	chmod(s.Persistent, 0o755)
	chmod(kept.Path, 0o666)
	wants("a file that is not trusted", false)
	chmod(kept.Path, 0o644)
	if _, err := s.Lift("a", ""); err != nil {
		t.Fatal(err)
	}
	wants("lifted", true)
}

// A watcher of a directory that hangs ends with its context.
func TestHungWatcherEnds(t *testing.T) {
	t.Parallel()
	s, _ := newQuickStore(t)
	stallOf(t, s, s.Persistent).hang(0)
	w := s.Watch()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx)
	}()
	cancel()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("it goes on")
	}
}
