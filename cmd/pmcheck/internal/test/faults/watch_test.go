package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A saying is what somebody said from a moment on.
type saying struct {
	what string
	at   time.Time
}

// sayings are what one party said, as often as it changed.
type sayings struct {
	mu   sync.Mutex
	list []saying
}

func (s *sayings) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.list); n == 0 || s.list[n-1].what != what {
		s.list = append(s.list, saying{what, time.Now()})
	}
}

// await waits until one of these is said, or was said since a moment, and returns
// when.
func (s *sayings) await(t *testing.T, what []string, since time.Time, within time.Duration) *saying {
	t.Helper()
	var found saying
	lab.RetryUntil(t, within, time.Millisecond, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, one := range s.list {
			if slices.Contains(what, one.what) && (one.at.After(since) || i == len(s.list)-1) {
				found = one
				return nil
			}
		}
		return fmt.Errorf("it never said %q: %s", what, s)
	})
	if found.at.Before(since) {
		found.at = since
	}
	return &found
}

// String is for messages. The caller has the lock, or nobody writes any more.
func (s *sayings) String() string {
	var parts []string
	for i, one := range s.list {
		text := fmt.Sprintf("%q", one.what)
		if i > 0 {
			text = fmt.Sprintf("%.3f s: %s", one.at.Sub(s.list[0].at).Seconds(), text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// A watch is somebody who asks pmcheck as balancers do, and HAProxy for its
// conclusion, all the time.
type watch struct {
	answers, states sayings
	done            chan struct{}
	wait            sync.WaitGroup
	once            sync.Once
}

// watch returns once it has heard of both. It ends with the test at the latest.
func (s *site) watch() *watch {
	w := &watch{done: make(chan struct{})}
	poll := func(every time.Duration, to *sayings, ask func() string) {
		to.note(ask())
		w.wait.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				select {
				case <-w.done:
					return
				case <-tick.C:
					to.note(ask())
				}
			}
		})
	}
	poll(5*time.Millisecond, &w.answers, s.answer)
	poll(20*time.Millisecond, &w.states, s.state)
	s.t.Cleanup(w.stop)
	return w
}

func (w *watch) stop() {
	w.once.Do(func() { close(w.done) })
	w.wait.Wait()
}
