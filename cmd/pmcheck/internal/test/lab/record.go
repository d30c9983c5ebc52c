package lab

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// NoAnswer is recorded for a connection that was refused, cut off or timed out.
const NoAnswer = "no answer"

// A Change is an answer that differed from the one before it.
type Change struct {
	Answer string
	At     time.Time
}

// A Record holds the answers of one program over a period: of pmcheck to a balancer, or of
// HAProxy about a server. It is safe for concurrent use.
type Record struct {
	tb   testing.TB
	stop func()

	mu      sync.Mutex
	changes []Change
	counts  map[string]int
}

// StartRecord calls ask at intervals of every until Stop is called or the test ends. When
// it returns, the record has the first answer.
func StartRecord(tb testing.TB, every time.Duration, ask func() string) *Record {
	tb.Helper()
	return startRecord(tb, every, false, ask)
}

// startRecord implements StartRecord. If overlap is set, a question does not wait for the
// answer to the one before.
func startRecord(tb testing.TB, every time.Duration, overlap bool, ask func() string) *Record {
	r := &Record{tb: tb, counts: map[string]int{}}
	done := make(chan struct{})
	var asking sync.WaitGroup
	r.add(ask())
	asking.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if overlap {
					asking.Go(func() { r.add(ask()) })
				} else {
					r.add(ask())
				}
			}
		}
	})
	r.stop = sync.OnceFunc(func() {
		close(done)
		asking.Wait()
	})
	tb.Cleanup(r.stop)
	return r
}

// Stop stops the recording after the last answer, and returns the record.
func (r *Record) Stop() *Record {
	r.stop()
	return r
}

func (r *Record) add(answer string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[answer]++
	if n := len(r.changes); n == 0 || r.changes[n-1].Answer != answer {
		r.changes = append(r.changes, Change{answer, time.Now()})
	}
}

// Changes returns the answers in order, without those that repeat the one before.
func (r *Record) Changes() []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes)
}

// Count returns how often an answer was given.
func (r *Record) Count(answer string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[answer]
}

// Total returns the number of answers, including NoAnswer.
func (r *Record) Total() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, count := range r.counts {
		n += count
	}
	return n
}

// AssertOnly fails the test if there was any answer but the wanted one.
func (r *Record) AssertOnly(want string) {
	r.tb.Helper()
	if total := r.Total(); r.Count(want) != total {
		r.tb.Errorf("not all of %d answers are %q: %s", total, want, r)
	}
}

// WaitMore waits until the record has the given number of further answers. NoAnswer does
// not count.
func (r *Record) WaitMore(answers int) {
	r.tb.Helper()
	before := r.Total() - r.Count(NoAnswer)
	WaitFor(r.tb, 20*time.Second, time.Millisecond, func() error {
		if n := r.Total() - r.Count(NoAnswer) - before; n < answers {
			return fmt.Errorf("%d answers, want %d", n, answers)
		}
		return nil
	})
}

// WaitOne waits until the record has a change to one of these answers after since, or its
// current answer is one of them. It returns that change; its time is not before since.
func (r *Record) WaitOne(answers []string, since time.Time, within time.Duration) Change {
	r.tb.Helper()
	var found Change
	WaitFor(r.tb, within, time.Millisecond, func() error {
		changes := r.Changes()
		for i, c := range changes {
			if slices.Contains(answers, c.Answer) && (c.At.After(since) || i == len(changes)-1) {
				found = c
				return nil
			}
		}
		return fmt.Errorf("the answer was never %q: %s", answers, r)
	})
	if found.At.Before(since) {
		found.At = since
	}
	return found
}

// Told returns the changes of the answers in order, without NoAnswer.
func (r *Record) Told() string {
	var answers []string
	for _, c := range r.Changes() {
		if c.Answer != NoAnswer {
			answers = append(answers, c.Answer)
		}
	}
	return strings.Join(slices.Compact(answers), ", ")
}

// String returns the changes with their times, as text for messages.
func (r *Record) String() string {
	var parts []string
	changes := r.Changes()
	for i, c := range changes {
		text := fmt.Sprintf("%q", c.Answer)
		if i > 0 {
			text = fmt.Sprintf("%.3f s: %s", c.At.Sub(changes[0].At).Seconds(), text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
