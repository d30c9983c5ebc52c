package drain_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/drain"
)

// keepLocked locks a file or directory until the test ends or unlock is called.
func keepLocked(t *testing.T, path string) (unlock func()) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	return func() { f.Close() }
}

// Any user can lock the directories themselves, but only their owner can open the lock.
func TestOnlyAWriterStopsAWriter(t *testing.T) {
	s, _ := newStore(t)
	s.SetLockWait(10 * time.Millisecond)
	keepLocked(t, s.Persistent)
	keepLocked(t, s.UntilReboot)
	put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain})
	lock := filepath.Join(s.UntilReboot, ".lock")
	if info, err := os.Stat(lock); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode of the lock: %v, %v", info.Mode(), err)
	}

	unlock := keepLocked(t, lock)
	_, putErr := tryPut(s, drain.Hold{Holder: "b", Mode: drain.Drain})
	_, liftErr := s.Lift("a", "")
	wantHolds(t, s, "a:drain") // a reader does not depend on the lock
	unlock()
	var nested error // of a writer between the look at a hold and its replacement
	if _, err := s.Change("a", "", func(old drain.Hold) (drain.Hold, error) {
		_, nested = s.Lift("a", "")
		return old, nil
	}); err != nil {
		t.Error(err)
	}
	for _, err := range []error{putErr, liftErr, nested} {
		we, is := errors.AsType[*fs.PathError](err)
		if !is || !errors.Is(err, drain.ErrBusy) || filepath.Dir(we.Path) != s.UntilReboot {
			t.Errorf("error %v", err)
		}
	}
	wantHolds(t, s, "a:drain")
	if _, err := s.Lift("a", ""); err != nil {
		t.Error(err)
	}
}

// TestAWriterWaitsForAnother: without a limit of its own, a writer does not fail because another one is at work.
func TestAWriterWaitsForAnother(t *testing.T) {
	s, _ := newStore(t)
	second := make(chan error, 1)
	_, err := s.Change("a", "", func(drain.Hold) (drain.Hold, error) {
		go func() {
			_, err := tryPut(s, drain.Hold{Holder: "b", Mode: drain.Maint})
			second <- err
		}()
		select {
		case err := <-second:
			t.Errorf("the second writer did not wait: %v", err)
			second <- nil
		case <-time.After(20 * time.Millisecond):
		}
		return drain.Hold{Mode: drain.Drain}, nil
	})
	must(t, err)
	must(t, <-second)
	wantHolds(t, s, "b:maint a:drain")
}

func TestLinkInThePlaceOfTheLockIsNotFollowed(t *testing.T) {
	s, _ := newStore(t)
	must(t, os.Symlink("nowhere", filepath.Join(s.UntilReboot, ".lock")))
	if _, err := tryPut(s, drain.Hold{Holder: "a", Mode: drain.Drain}); !errors.Is(err, unix.ELOOP) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Lstat(filepath.Join(s.UntilReboot, "nowhere")); err == nil {
		t.Error("the link was followed")
	}
}

// A hold moves to the other directory after one of the reader's scans.
func TestReaderSeesAMovedHold(t *testing.T) {
	for _, from := range []bool{false, true} {
		for after := 1; after <= 3; after++ {
			t.Run(fmt.Sprintf("until reboot %t, after scan %d", from, after), func(t *testing.T) {
				s, _ := newStore(t)
				put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, UntilReboot: from})
				scans := 0
				s.SetScanned(func() {
					if scans++; scans == after {
						put(t, s, drain.Hold{Holder: "a", Mode: drain.Drain, UntilReboot: !from})
					}
				})
				if mode, by := s.Read().Mode("", noon); mode != drain.Drain || scans != 3 {
					t.Errorf("%s by %s after %d scans", mode, describe(by), scans)
				}
			})
		}
	}
}
