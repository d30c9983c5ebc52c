package drain

import "github.com/fsnotify/fsnotify"

// SetNotify replaces how Run gets at the kernel's events.
func (w *Watcher) SetNotify(f func() (*fsnotify.Watcher, error)) { w.newNotify = f }
