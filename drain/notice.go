package drain

import (
	"context"

	"github.com/fsnotify/fsnotify"
)

// notices are the kernel's events of one directory. Each directory has a notifier of its own, because a file system
// that does not answer blocks its notifier.
type notices struct {
	store    *Store
	dir      string
	notifier *fsnotify.Watcher // nil if the kernel has none left: then the channels block for ever
	events   chan fsnotify.Event
	lost     chan error
}

func (s *Store) notices(dir string) *notices {
	n := &notices{store: s, dir: dir}
	notifier, err := fsnotify.NewWatcher()
	if err == nil {
		n.notifier = notifier
		n.events = notifier.Events
		n.lost = notifier.Errors
	}
	return n
}

// renew asks for events again, in case the directory was replaced.
func (n *notices) renew() {
	n.do(func() error { return n.notifier.Add(n.dir) })
}

// close ends the events. A notifier that is blocked ends with the process.
func (n *notices) close() {
	n.do(func() error { return n.notifier.Close() })
}

// do lets the notifier do something. An error is not needed: the directory is read every second without events, too.
func (n *notices) do(something func() error) {
	if n.notifier != nil {
		_, _ = reach(n.store, n.dir, readTime, func(context.Context) (struct{}, error) { return struct{}{}, something() })
	}
}
