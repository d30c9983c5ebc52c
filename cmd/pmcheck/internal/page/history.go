package page

import (
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// The history is an hour in steps of ten seconds. It always takes 12 KiB.
const (
	stepTime = 10 * time.Second
	steps    = 360
)

// Sample is the most that was seen of the JRuby pool in one step. It is zero if nothing was seen.
type Sample struct {
	Size    int // of the pool
	Working int // JRubies at work
	Waiting int // requests that waited for one
}

// sampleOf returns what a reading of the pool shows; the zero Sample without one.
func sampleOf(pool *check.Pool) Sample {
	if pool == nil {
		return Sample{}
	}
	return Sample{pool.Size, len(pool.Borrowed), len(pool.Waiting)}
}

func (s Sample) max(o Sample) Sample {
	return Sample{max(s.Size, o.Size), max(s.Working, o.Working), max(s.Waiting, o.Waiting)}
}

// History remembers the JRuby pool of the last hour. It is safe for concurrent use.
type History struct {
	start time.Time

	mu   sync.Mutex
	ring [steps]struct {
		step int64
		Sample
	}
}

// NewHistory returns a history that begins at start, which must have a monotonic
// clock reading.
func NewHistory(start time.Time) *History { return &History{start: start} }

// step returns the number of the step of a time since the start. It uses the monotonic
// clock, so that setting the wall clock leaves no gap in the plot. The first step is 1.
func (h *History) step(t time.Time) int64 { return int64(t.Sub(h.start)/stepTime) + 1 }

// Note adds a reading of the pool to the history. Nil adds nothing.
func (h *History) Note(now time.Time, pool *check.Pool) {
	seen, step := sampleOf(pool), h.step(now)
	h.mu.Lock()
	defer h.mu.Unlock()
	at := &h.ring[step%steps]
	if at.step != step {
		at.step, at.Sample = step, Sample{}
	}
	at.Sample = at.Sample.max(seen)
}

// Last returns the samples of the last hour, oldest first. Their number is always the same.
// The caller may change them.
func (h *History) Last(now time.Time) []Sample {
	list := make([]Sample, steps)
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.step(now) - steps + 1
	for i := range list {
		step := first + int64(i)
		if at := h.ring[max(0, step)%steps]; at.step == step {
			list[i] = at.Sample
		}
	}
	return list
}
