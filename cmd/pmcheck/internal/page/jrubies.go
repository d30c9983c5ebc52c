package page

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// The history is an hour in steps of ten seconds.
const (
	stepTime = 10 * time.Second
	steps    = 360
)

// A sample is the pool in one step.
type sample struct {
	Step    int64
	Size    int // of the pool; zero if it was not seen
	Working int // JRubies at work
	Waiting int // requests that waited for one
}

// sampleOf returns what a reading of the pool shows. Without a reading, pool is nil.
func sampleOf(now time.Time, pool *check.Pool) sample {
	s := sample{Step: now.UnixNano() / int64(stepTime)}
	if pool != nil {
		s.Size = pool.Size
		s.Working = len(pool.Borrowed)
		s.Waiting = len(pool.Waiting)
	}
	return s
}

// most returns the greater of each number, at the step of s.
func (s sample) most(o sample) sample {
	return sample{
		Step:    s.Step,
		Size:    max(s.Size, o.Size),
		Working: max(s.Working, o.Working),
		Waiting: max(s.Waiting, o.Waiting),
	}
}

// history is the JRuby pool of the last hour. Its zero value is empty. It is safe for concurrent use.
type history struct {
	mu      sync.Mutex
	samples []sample // oldest first, one for each step that was seen
}

// note adds a reading of the pool to the last hour. Nil adds nothing.
func (h *history) note(now time.Time, pool *check.Pool) {
	s := sampleOf(now, pool)

	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.samples); n > 0 && h.samples[n-1].Step == s.Step {
		s = s.most(h.samples[n-1])
	}
	h.samples = append(before(s.Step, h.samples), s)
}

// last returns the samples of the last hour. The last sample is the present, and not the most of its step.
func (h *history) last(now time.Time, pool *check.Pool) []sample {
	s := sampleOf(now, pool)

	h.mu.Lock()
	defer h.mu.Unlock()
	return append(before(s.Step, slices.Clone(h.samples)), s)
}

// before keeps the samples of the hour before a step.
func before(step int64, samples []sample) []sample {
	return slices.DeleteFunc(samples, func(s sample) bool { return s.Step <= step-steps || s.Step >= step })
}

// plot is the JRuby pool of the last hour, with three paths of a drawing that is as wide as there are steps and
// plotHeight high.
type plot struct {
	Now                    sample // the last step
	Most                   sample // of the hour
	Size, Working, Waiting string
}

const plotHeight = 40

// newPlot draws the busy JRubies and on top of them the waiting requests, in front of the number of
// JRubies. There must be a sample.
func newPlot(samples []sample) plot {
	p := plot{Now: samples[len(samples)-1]}

	top := 1
	for _, s := range samples {
		p.Most = p.Most.most(s)
		top = max(top, s.Size, s.Working+s.Waiting)
	}

	for _, s := range samples {
		at := s.Step - p.Now.Step + steps - 1
		p.Size += bar(at, top, 0, s.Size)
		p.Working += bar(at, top, 0, s.Working)
		p.Waiting += bar(at, top, s.Working, s.Working+s.Waiting)
	}
	return p
}

// bar draws a bar between two numbers, if there is one; top is the number at the upper edge.
func bar(at int64, top, from, to int) string {
	if from >= to {
		return ""
	}

	y := func(n int) int { return plotHeight - (n*plotHeight+top-1)/top } // small numbers stay visible
	return fmt.Sprintf("M%d %dV%dh1V%d", at, y(from), y(to), y(from))
}
