package drain

import (
	"time"

	"github.com/fsnotify/fsnotify"
)

// SetInterval replaces how often Run reads without having been told.
func (w *Watcher) SetInterval(d time.Duration) { w.interval = d }

// SetNotify replaces how Run gets at the kernel's events.
func (w *Watcher) SetNotify(f func() (*fsnotify.Watcher, error)) { w.newNotify = f }
