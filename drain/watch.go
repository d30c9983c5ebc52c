package drain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// scanInterval is how often a Watcher reads the directories without having
// been told of a change. It bounds how late it notices what the kernel does not
// report: the end of a hold, a clock that was set, a file system mounted over
// a directory or unmounted.
const scanInterval = time.Second

// Watcher follows a [Store]: within milliseconds for changes that the kernel
// reports, and within about a second for all others. Unlike Read, it knows a
// directory again: one that was replaced since, and was not accepted, is a hold of
// the holder [Directory]. Its methods are safe for concurrent use.
type Watcher struct {
	store    *Store
	current  atomic.Pointer[Snapshot]
	degraded atomic.Pointer[error]
	changes  chan struct{}
	rescan   chan struct{}

	// For Run alone.
	interval  time.Duration
	newNotify func() (*fsnotify.Watcher, error)
	notify    *fsnotify.Watcher // nil while there is none
	known     map[string]identity
}

// Watch reads s and returns a Watcher for it, which follows changes while
// [Watcher.Run] runs.
func (s *Store) Watch() *Watcher {
	w := &Watcher{
		store:     s,
		changes:   make(chan struct{}, 1),
		rescan:    make(chan struct{}, 1),
		interval:  scanInterval,
		newNotify: fsnotify.NewWatcher,
		known:     make(map[string]identity),
	}
	snap := s.read(w.recognize)
	w.current.Store(&snap)
	w.degraded.Store(new(error))
	return w
}

// Current returns the latest snapshot. It never waits. A hold whose end has
// come may still be in it: ask the snapshot with the time.
func (w *Watcher) Current() Snapshot { return *w.current.Load() }

// Changes receives a value after holds came, went, changed or ended, or
// Degraded changed. Several changes in a row may be one value. It has one
// reader, and is never closed.
func (w *Watcher) Changes() <-chan struct{} { return w.changes }

// Rescan asks for the directories to be read now, for the case that an event
// was lost. It does not wait for it.
func (w *Watcher) Rescan() { signal(w.rescan) }

// Degraded returns why changes are noticed within about a second only, and nil
// while the kernel reports them.
func (w *Watcher) Degraded() error { return *w.degraded.Load() }

// Run follows the store until ctx ends. It must run at most once. What it
// returns concerns the release of the kernel's watches only.
func (w *Watcher) Run(ctx context.Context) error {
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	for {
		w.scan()
		if w.wait(ctx, tick.C) {
			continue
		}
		if w.notify == nil {
			return nil
		}
		return w.notify.Close()
	}
}

// wait returns true when it is time to scan and false when ctx has ended.
func (w *Watcher) wait(ctx context.Context, tick <-chan time.Time) bool {
	var events chan fsnotify.Event
	var failures chan error
	if w.notify != nil {
		events, failures = w.notify.Events, w.notify.Errors
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
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
		if name := filepath.Base(path); filepath.Dir(path) == dir && (isHold(name) || name == marker) {
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

	old, snap := w.Current(), w.store.read(w.recognize)
	w.current.Store(&snap)
	if !slices.Equal(old.holds, snap.holds) || !slices.Equal(old.At(old.taken).holds, snap.At(snap.taken).holds) ||
		fmt.Sprint(before) != fmt.Sprint(err) {
		signal(w.changes)
	}
}

// recognize returns errReplaced for a directory that is neither the first one
// seen at its path nor marked as accepted, nor the last one that was.
func (w *Watcher) recognize(v view) error {
	if v.id == (identity{}) {
		return nil // why it cannot be opened is said already
	}
	if known, ok := w.known[v.dir]; ok && known != v.id && !v.marked {
		return errReplaced
	}
	w.known[v.dir] = v.id
	return nil
}

// arm watches the directories, and their parents for the directories to come,
// go and be replaced. A directory that is watched already costs a system call;
// one that was replaced is watched anew. The error is the first of all, since
// they have one cause as a rule.
func (w *Watcher) arm() error {
	if w.notify == nil {
		notify, err := w.newNotify()
		if err != nil {
			return fmt.Errorf("watch holds: %w", explain(err))
		}
		w.notify = notify
	}
	var first error
	for _, p := range w.store.places() {
		for _, dir := range []string{p.dir, filepath.Dir(filepath.Clean(p.dir))} {
			err := w.notify.Add(dir)
			// The snapshot reports a missing directory.
			if first == nil && err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				first = fmt.Errorf("watch %s: %w", dir, explain(err))
			}
		}
	}
	return first
}

// explain names the limits of inotify, whose errors speak of files and disks.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w, or the sysctl fs.inotify.max_user_instances is too low", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: the sysctl fs.inotify.max_user_watches is too low", err)
	}
	return err
}

// signal leaves a value in a channel with room for one.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
