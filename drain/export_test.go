package drain

import (
	"time"

	"github.com/fsnotify/fsnotify"
)

// SetInterval sets how often Run reads the directories without an event.
func (w *Watcher) SetInterval(d time.Duration) { w.seldom, w.often = d, d }

// SetNotify replaces the function that subscribes Run to the kernel's events.
func (w *Watcher) SetNotify(f func() (*fsnotify.Watcher, error)) { w.newNotify = f }

// MaxPasses is how often Read scans directories that keep changing.
const MaxPasses = maxPasses

// SetScanned makes Read call f after each scan of a directory, but not after the scans
// that f causes itself.
func (s *Store) SetScanned(f func()) {
	busy := false
	s.scanned = func() {
		if !busy {
			busy = true
			f()
			busy = false
		}
	}
}
