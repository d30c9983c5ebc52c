package drain

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// every is how often a Watcher reads the directories without an event. Kernels do not report a mount, a
// clock that is set, or the end of a hold, and may have no watches left.
const every = time.Second

// maxAge is how long a reading counts: the directory may be on a file server that hangs.
const maxAge = 15 * time.Second

// Watcher follows a [Store]. It notices what the kernel reports within milliseconds, and all else
// within a second. Unlike Read, it recognizes directories: a directory that was replaced is a hold
// of the holder [Directory] until [Watcher.Accept]. Its methods are safe for concurrent use.
type Watcher struct {
	store     *Store
	latest    atomic.Pointer[Snapshot]
	changed   chan struct{}
	accepting chan struct{} // the next read accepts directories that were replaced
	every     time.Duration
	known     map[string]*os.File // the directories, open: no other one can get the inode number of one
}

// Watch reads s and returns a Watcher for it, which follows changes while
// [Watcher.Run] runs.
func (s *Store) Watch() *Watcher {
	w := &Watcher{
		store:     s,
		changed:   make(chan struct{}, 1),
		accepting: make(chan struct{}, 1),
		every:     every,
		known:     make(map[string]*os.File),
	}
	w.read(false)
	return w
}

// Current returns the latest snapshot. It never blocks. The snapshot may contain holds
// that have ended; its methods At and Mode leave these out. If the directories were not read for 15 s, it has one
// hold, which says so: maint, [Unreadable].
func (w *Watcher) Current() Snapshot {
	s := *w.latest.Load()
	if w.store.clock().Sub(s.taken) >= maxAge {
		s.list = []Hold{{
			Holder: Directory,
			Mode:   Maint,
			Code:   Unreadable,
			Error:  "the holds could not be read since " + s.taken.Format(time.RFC3339),
		}}
	}
	return s
}

// Changes returns a channel that receives a value after holds were added, removed or
// changed, or ended. Several changes in a row may result in one value. The channel must have one reader only,
// and is never closed.
func (w *Watcher) Changes() <-chan struct{} { return w.changed }

// Accept makes Run read the directories now, and accept each directory that replaced another as it is. It
// does not wait for the result.
func (w *Watcher) Accept() { signal(w.accepting) }

// Run follows the store until ctx ends. It must be called at most once.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()

	// Without events, as after an error, the directories are read each second.
	var events chan fsnotify.Event
	var lost chan error
	notify, err := fsnotify.NewWatcher()
	if err == nil {
		defer notify.Close()
		events = notify.Events
		lost = notify.Errors
	}

	accept := false
	for {
		if notify != nil {
			for _, dir := range w.store.dirs() { // before the read, so that a change during it is an event
				_ = notify.Add(dir) // again, in case it was replaced
			}
		}
		w.scan(accept)
		accept = false

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.accepting:
			accept = true
		case <-events:
		case <-lost:
		}
	}
}

// scan reads the directories, and says so if that changes anything.
func (w *Watcher) scan(accept bool) {
	before := w.Current()
	w.read(accept)
	after := w.Current()

	same := slices.Equal(before.list, after.list)
	sameInEffect := slices.Equal(before.At(before.taken).list, after.At(after.taken).list)
	if !same || !sameInEffect {
		signal(w.changed)
	}
}

func (w *Watcher) read(accept bool) {
	snap := w.store.readWith(func(dir string, info os.FileInfo) error { return w.recognize(dir, info, accept) })
	w.latest.Store(&snap)
}

// recognize returns an error for a directory that is not the one known, unless it accepts that.
func (w *Watcher) recognize(dir string, info os.FileInfo, accept bool) error {
	if known := w.known[dir]; known != nil {
		before, err := known.Stat()
		if err == nil && os.SameFile(before, info) {
			return nil
		}
		if !accept {
			return errReplaced
		}
		known.Close()
	}

	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err == nil {
		w.known[dir] = f
	}
	return err
}

// signal sends a value to a channel with room for one, unless there is one already.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
