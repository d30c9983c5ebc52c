package drain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How often a Watcher reads the directories without an event: seldom while the kernel reports
// all that it can, and often while it does not, because there are no watches left, a
// directory is missing, or the system is not Linux.
const (
	seldom = 5 * time.Second
	often  = time.Second
)

// Watcher follows a [Store]. It notices within milliseconds that a hold ends, and what the
// kernel reports; of several mounts, or settings of the clock, within one second those after
// the first when that second is over. It notices all else, such as a move of a directory two levels
// up, within about five seconds, and within one while [Watcher.Degraded] is not nil or a
// directory is missing. Unlike Read, it recognizes directories: one that was replaced is a hold
// of the holder [Directory] until [Watcher.Accept]. Its methods are safe for concurrent use.
type Watcher struct {
	store    *Store
	current  atomic.Pointer[Snapshot]
	degraded atomic.Pointer[error]
	changes  chan struct{}
	rescan   chan struct{}

	accept atomic.Bool // the next read accepts directories that were replaced
	told   atomic.Bool // the kernel reports mounts and a clock that is set, too

	// For Run alone.
	seldom    time.Duration
	often     time.Duration
	sees      bool // all directories are watched
	newNotify func() (*fsnotify.Watcher, error)
	notify    *fsnotify.Watcher // nil while there is none
	known     map[string]identity
	seen      []view // by the last read
}

// Watch reads s and returns a Watcher for it, which follows changes while
// [Watcher.Run] runs.
func (s *Store) Watch() *Watcher {
	w := &Watcher{
		store:     s,
		changes:   make(chan struct{}, 1),
		rescan:    make(chan struct{}, 1),
		seldom:    seldom,
		often:     often,
		newNotify: fsnotify.NewWatcher,
		known:     make(map[string]identity),
	}
	w.read()
	w.degraded.Store(new(error))
	return w
}

// Current returns the latest snapshot. It never blocks. The snapshot may contain holds
// that have ended; its methods At and Mode leave these out.
func (w *Watcher) Current() Snapshot { return *w.current.Load() }

// Changes returns a channel that receives a value after holds were added, removed or
// changed, or ended, or after Degraded changed. Several changes in a row may result in
// one value. The channel must have one reader only, and is never closed.
func (w *Watcher) Changes() <-chan struct{} { return w.changes }

// Rescan makes Run read the directories now, in case an event was lost. It does not wait
// for the result.
func (w *Watcher) Rescan() { signal(w.rescan) }

// Accept makes Run read the directories now, and accept those that replaced others as they are. It
// does not wait for the result.
func (w *Watcher) Accept() {
	w.accept.Store(true)
	w.Rescan()
}

// Degraded returns why changes are noticed within about a second only, and nil
// while the kernel reports them.
func (w *Watcher) Degraded() error { return *w.degraded.Load() }

// Run follows the store until ctx ends. It must be called at most once. It returns an
// error only if the kernel's watches cannot be closed.
func (w *Watcher) Run(ctx context.Context) error {
	var unseen sync.WaitGroup
	defer unseen.Wait()
	unseen.Go(func() {
		followUnseen(ctx, func() { w.told.Store(true); w.Rescan() })
		w.told.Store(false) // whatever the error is: Run looks often instead
		w.Rescan()
	})
	for {
		w.scan()
		if w.wait(ctx) {
			continue
		}
		if w.notify == nil {
			return nil
		}
		return w.notify.Close()
	}
}

// pause returns how long to wait for an event: at most until the next hold ends.
func (w *Watcher) pause() time.Duration {
	pause := w.seldom
	if !w.sees || !w.told.Load() {
		pause = w.often
	}
	now := w.store.now()
	for _, h := range w.Current().holds {
		if h.InEffect(now) && !h.Until.IsZero() {
			pause = min(pause, h.Until.Sub(now))
		}
	}
	return pause
}

// wait returns true when it is time to scan and false when ctx has ended.
func (w *Watcher) wait(ctx context.Context) bool {
	timer := time.NewTimer(w.pause())
	defer timer.Stop()
	var events chan fsnotify.Event
	var failures chan error
	if w.notify != nil {
		events, failures = w.notify.Events, w.notify.Errors
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-w.rescan:
			return true
		case <-failures: // events were lost
			return true
		case event := <-events:
			if w.concerns(event.Name) {
				return true
			}
		}
	}
}

// concerns reports whether an event for path can change what Read returns. The
// temporary files of a Put cannot.
func (w *Watcher) concerns(path string) bool {
	for _, p := range w.store.places() {
		dir := filepath.Clean(p.dir)
		if path == dir || path == filepath.Dir(dir) {
			return true
		}
		if name := filepath.Base(path); filepath.Dir(path) == dir && isHold(name) {
			return true
		}
	}
	return false
}

// scan reads the store and publishes the result. The watches are set before, so
// that a change during the scan is an event after it.
func (w *Watcher) scan() {
	before := w.Degraded()
	err := w.arm()
	w.degraded.Store(&err)

	old, snap := w.Current(), w.read()
	if !slices.Equal(old.holds, snap.holds) || !slices.Equal(old.At(old.taken).holds, snap.At(snap.taken).holds) ||
		fmt.Sprint(before) != fmt.Sprint(err) {
		signal(w.changes)
	}
}

func (w *Watcher) read() (snap Snapshot) {
	accept := w.accept.Swap(false)
	snap, w.seen = w.store.read(w.seen, func(v view) error {
		known, seen := w.known[v.dir]
		switch {
		case v.id == (identity{}): // v.err already says why it cannot be opened
		case seen && known != v.id && !accept:
			return errReplaced
		default:
			w.known[v.dir] = v.id
		}
		return nil
	})
	w.current.Store(&snap)
	return snap
}

// arm watches the directories, and their parents to notice directories that are created,
// removed or replaced. A directory that is already watched costs a system call; one that
// was replaced is watched again. arm returns the first error only, since all of them
// usually have the same cause.
func (w *Watcher) arm() error {
	w.sees = false
	if w.notify == nil {
		notify, err := w.newNotify()
		if err != nil {
			return fmt.Errorf("watch holds: %w", explain(err))
		}
		w.notify = notify
	}
	w.sees = true
	var first error
	for _, p := range w.store.places() {
		for _, dir := range []string{p.dir, filepath.Dir(filepath.Clean(p.dir))} {
			err := w.notify.Add(dir)
			w.sees = w.sees && err == nil
			// The snapshot reports a missing directory.
			if first == nil && err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				first = fmt.Errorf("watch %s: %w", dir, explain(err))
			}
		}
	}
	return first
}

// explain names the limit of inotify behind an error that mentions only files or disks.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w, or the sysctl fs.inotify.max_user_instances is too low", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: the sysctl fs.inotify.max_user_watches is too low", err)
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
