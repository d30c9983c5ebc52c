package drain

import (
	"time"

	"github.com/fsnotify/fsnotify"
)

// SetInterval replaces how often Run reads without having been told.
func (w *Watcher) SetInterval(d time.Duration) { w.interval = d }

// SetNotify replaces how Run gets at the kernel's events.
func (w *Watcher) SetNotify(f func() (*fsnotify.Watcher, error)) { w.newNotify = f }

// MaxPasses is how often Read looks at directories that do not come to rest.
const MaxPasses = maxPasses

// SetScanned has Read call f after each scan of a directory. What f does itself
// with the store does not count.
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
