package drain_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func hours(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }

// clock is a wall clock that moves only when it is set.
type clock struct{ t atomic.Pointer[time.Time] }

func (c *clock) now() time.Time  { return *c.t.Load() }
func (c *clock) set(t time.Time) { c.t.Store(&t) }

func newStore(t *testing.T) (*drain.Store, *clock) {
	t.Helper()
	return newStoreIn(t, t.TempDir())
}

// newQuickStore returns a store that is not on a disk: one that is busy elsewhere takes long to sync.
func newQuickStore(t *testing.T) (*drain.Store, *clock) {
	t.Helper()
	root, err := os.MkdirTemp("/dev/shm", "pmcheck-")
	if err != nil {
		return newStore(t)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	return newStoreIn(t, root)
}

func newStoreIn(t *testing.T, root string) (*drain.Store, *clock) {
	t.Helper()
	c := new(clock)
	c.set(noon)
	s := &drain.Store{
		Persistent:  filepath.Join(root, "var", "holds"),
		UntilReboot: filepath.Join(root, "run", "holds"),
		Now:         c.now,
	}
	must(t, os.MkdirAll(s.Persistent, 0o755))
	must(t, os.MkdirAll(s.UntilReboot, 0o755))
	return s, c
}

// needRoot skips a test for an ordinary user, but never in CI.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getenv("CI") == "" && os.Getuid() != 0 {
		t.Skip("needs root")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, s *drain.Store, h drain.Hold) drain.Hold {
	t.Helper()
	stored, err := tryPut(s, h)
	must(t, err)
	return stored
}

func tryPut(s *drain.Store, h drain.Hold) (drain.Hold, error) {
	return s.Change(h.Holder, h.Service, func(drain.Hold) (drain.Hold, error) { return h, nil })
}

func drop(t *testing.T, dir, name, content string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
}

// describe returns one word per hold: holder, service, mode, place and code.
func describe(holds []drain.Hold) string {
	var words []string
	for _, h := range holds {
		w := h.Holder
		if h.Service != drain.EveryService {
			w += "@" + string(h.Service)
		}
		w += ":" + string(h.Mode)
		if h.UntilReboot {
			w += ":reboot"
		}
		if h.Code != "" {
			w += ":" + h.Code
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func wantHolds(t *testing.T, s *drain.Store, want string) {
	t.Helper()
	if got := describe(s.Read().Holds()); got != want {
		t.Errorf("holds\n got %s\nwant %s", got, want)
	}
}
