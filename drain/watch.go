package drain

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// every is how often a Watcher reads the directories without an event. Kernels do not report a mount, a
// clock that is set, or the end of a hold, and may have no watches left.
const every = time.Second

// Watcher follows a [Store]. It notices what the kernel reports within milliseconds, and all else
// within a second. Unlike Read, it remembers what it has read. The last reading of a directory counts while its file
// system does not answer. A directory that is missing or was replaced is a hold of the holder [Directory], as firm as
// the holds that it had, until [Watcher.Accept]. The methods of a Watcher are safe for concurrent use.
type Watcher struct {
	store     *Store
	latest    atomic.Pointer[Snapshot]
	changed   chan struct{}
	accepting atomic.Bool // the next read accepts directories that were replaced
	readNow   chan struct{}
	every     time.Duration
	places    []*place // only the loop uses them
}

// Watch reads s and returns a Watcher for it, which follows changes while
// [Watcher.Run] runs.
func (s *Store) Watch() *Watcher {
	w := &Watcher{
		store:   s,
		changed: make(chan struct{}, 1),
		readNow: make(chan struct{}, 1),
		every:   every,
		places:  s.places(),
	}
	snap := s.readPlaces(w.places, false)
	w.latest.Store(&snap)
	return w
}

// Current returns the latest snapshot. It never blocks. The snapshot may contain holds
// that have ended; its methods At and Mode leave these out.
func (w *Watcher) Current() Snapshot { return *w.latest.Load() }

// Changes returns a channel that receives a value after holds were added, removed or changed, or ended, and after a
// directory began to hang or to answer. Several changes in a row may result in one value. The channel must have one
// reader only, and is never closed.
func (w *Watcher) Changes() <-chan struct{} { return w.changed }

// Accept makes Run read the directories now, and accept each directory that replaced another as it is. It
// does not wait for the result.
func (w *Watcher) Accept() {
	w.accepting.Store(true)
	signal(w.readNow)
}

// Run follows the store until ctx ends. It must be called at most once.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()

	// Without events, as after an error, the directories are read each second.
	reboot := w.store.notices(w.store.UntilReboot)
	defer reboot.close()
	persistent := w.store.notices(w.store.Persistent)
	defer persistent.close()

	for {
		reboot.renew() // before the read, so that a change during it is an event
		persistent.renew()
		w.scan(w.accepting.Swap(false))

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.readNow:
		case <-reboot.events:
		case <-reboot.lost:
		case <-persistent.events:
		case <-persistent.lost:
		}
	}
}

// scan reads the directories, and says so if that changes anything.
func (w *Watcher) scan(accept bool) {
	before := w.Current()
	after := w.store.readPlaces(w.places, accept)
	w.latest.Store(&after)

	same := slices.Equal(before.list, after.list) && slices.Equal(before.hangs, after.hangs)
	sameInEffect := slices.Equal(before.At(before.taken).list, after.At(after.taken).list)
	if !same || !sameInEffect {
		signal(w.changed)
	}
}

// signal sends a value to a channel with room for one, unless there is one already.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
