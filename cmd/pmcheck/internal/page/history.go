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

// History remembers the JRuby pool of the last hour. Its zero value is empty. It is safe for concurrent use.
type History struct {
	mu   sync.Mutex
	ring [steps]struct {
		step int64
		Sample
	}
}

// stepOf numbers the steps.
func stepOf(t time.Time) int64 { return t.UnixNano() / int64(stepTime) }

// Note adds a reading of the pool to the history. Nil adds nothing.
func (h *History) Note(now time.Time, pool *check.Pool) {
	seen, step := sampleOf(pool), stepOf(now)
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
	first := stepOf(now) - steps + 1
	for i := range list {
		step := first + int64(i)
		if at := h.ring[step%steps]; at.step == step {
			list[i] = at.Sample
		}
	}
	return list
}
