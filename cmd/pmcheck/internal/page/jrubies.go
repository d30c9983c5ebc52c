package page

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// The history is an hour in steps of ten seconds.
const (
	stepTime = 10 * time.Second
	steps    = 360
)

// sample is the most that was seen of the JRuby pool in one step.
type sample struct {
	step    int64
	size    int // of the pool; zero if it was not seen
	working int // JRubies at work
	waiting int // requests that waited for one
}

// sampleOf returns what a reading of the pool shows; nil is none.
func sampleOf(now time.Time, pool *check.Pool) sample {
	s := sample{step: now.UnixNano() / int64(stepTime)}
	if pool != nil {
		s.size, s.working, s.waiting = pool.Size, len(pool.Borrowed), len(pool.Waiting)
	}
	return s
}

// most returns the greater numbers of two samples.
func (s sample) most(o sample) sample {
	return sample{s.step, max(s.size, o.size), max(s.working, o.working), max(s.waiting, o.waiting)}
}

// history is the JRuby pool of the last hour. Its zero value is empty. It is safe for concurrent use.
type history struct {
	mu      sync.Mutex
	samples []sample // oldest first, one for each step that was seen
}

// Note adds a reading of the pool to the last hour. Nil adds nothing.
func (h *history) Note(now time.Time, pool *check.Pool) {
	s := sampleOf(now, pool)
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.samples); n > 0 && h.samples[n-1].step == s.step {
		s = s.most(h.samples[n-1])
	}
	h.samples = append(before(s.step, h.samples), s)
}

// last returns the samples of the last hour. The last of them is the present, and not the most of its step.
func (h *history) last(now time.Time, pool *check.Pool) []sample {
	s := sampleOf(now, pool)
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(before(s.step, slices.Clone(h.samples)), s)
}

// before keeps the samples of the hour before a step.
func before(step int64, samples []sample) []sample {
	return slices.DeleteFunc(samples, func(s sample) bool { return s.step <= step-steps || s.step >= step })
}

// plot is the JRuby pool of the last hour: a drawing, and the same in words.
type plot struct {
	Now    string // the last step
	Most   string // of the hour
	Shapes []shape
}

// shape is one path of a drawing that is as wide as there are steps and plotHeight high, and what
// it means.
type shape struct{ Class, D, Means string }

const plotHeight = 40

// newPlot draws the busy JRubies and on top of them the waiting requests, in front of the number of
// JRubies. There must be a sample.
func newPlot(samples []sample) plot {
	var most sample
	top, now := 1, samples[len(samples)-1]
	for _, s := range samples {
		most = most.most(s)
		top = max(top, s.size, s.working+s.waiting)
	}
	var size, working, waiting strings.Builder
	for _, s := range samples {
		at := s.step - now.step + steps - 1
		bar(&size, at, top, 0, s.size)
		bar(&working, at, top, 0, s.working)
		bar(&waiting, at, top, s.working, s.working+s.waiting)
	}
	p := plot{Now: "not known", Shapes: []shape{
		{"size", size.String(), "JRubies"},
		{"working", working.String(), "at work"},
		{"waiting", waiting.String(), "requests that wait for one"},
	}}
	if now.size > 0 {
		p.Now = fmt.Sprintf("%d of %d at work, %d waiting", now.working, now.size, now.waiting)
	}
	if most.size > 0 {
		p.Most = fmt.Sprintf("In the last hour at most %d at work, %d waiting.", most.working, most.waiting)
	}
	return p
}

// bar draws a bar between two numbers, if there is one; top is the number at the upper edge.
func bar(b *strings.Builder, at int64, top, from, to int) {
	y := func(n int) int { return plotHeight - (n*plotHeight+top-1)/top } // small numbers stay visible
	if from < to {
		fmt.Fprintf(b, "M%d %dV%dh1V%d", at, y(from), y(to), y(from))
	}
}
