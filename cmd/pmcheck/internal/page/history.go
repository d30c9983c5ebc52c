package page

import (
	"cmp"
	"net/http"
	"sync"
	"time"
)

// The history is an hour in slots of ten seconds. It always takes 23 KiB: 360 samples
// of 64 bytes.
const (
	slotTime = 10 * time.Second
	slots    = 360
)

// Sample is the worst of ten seconds. A zero field was not seen in that time.
type Sample struct {
	Code    int           // the answer to a balancer that chose no codes; 0 before the first verdict
	Held    bool          // the answer came from a hold
	Took    time.Duration // of the slowest probe that was answered
	Failed  bool          // a probe found a fault
	Size    int           // of the JRuby pool
	Working int           // JRubies at work
	Waiting int           // requests that waited for one

	slot int64
}

// Moment is the state of the master at one time.
type Moment struct {
	Time time.Time
	// Asked is when the last probe began. A probe counts once: Took and Failed are
	// ignored if Asked has not changed since the moment before.
	Asked time.Time
	Sample
}

// History remembers the last hour. It is safe for concurrent use.
type History struct {
	start time.Time

	mu    sync.Mutex
	ring  [slots]Sample
	asked time.Time // when the last probe in it began
}

// NewHistory returns a history that begins at start, which must have a monotonic
// clock reading.
func NewHistory(start time.Time) *History { return &History{start: start} }

// slot returns the number of the slot of a time since the start. It uses the monotonic
// clock, so that setting the wall clock leaves no gap in the plots. The first slot is 1.
func (h *History) slot(t time.Time) int64 { return int64(t.Sub(h.start)/slotTime) + 1 }

// Note adds a moment to the history.
func (h *History) Note(m Moment) {
	slot := h.slot(m.Time)
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.Asked.After(h.asked) {
		h.asked = m.Asked
	} else {
		m.Took, m.Failed = 0, false
	}
	sample := &h.ring[slot%slots]
	if sample.slot != slot {
		*sample = Sample{slot: slot}
	}
	sample.add(m.Sample)
}

// Last returns the samples of the last hour, oldest first. Their number is always the
// same. A sample is zero if nothing was noted in its time.
func (h *History) Last(now time.Time) []Sample {
	list := make([]Sample, slots)
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.slot(now) - slots + 1
	for i := range list {
		slot := first + int64(i)
		if slot > 0 && h.ring[slot%slots].slot == slot {
			list[i] = h.ring[slot%slots]
		}
	}
	return list
}

// add keeps the worst of both.
func (s *Sample) add(m Sample) {
	if m.band() > s.band() {
		s.Code, s.Held = m.Code, m.Held
	}
	if !m.Failed {
		s.Took = max(s.Took, m.Took)
	}
	s.Failed = s.Failed || m.Failed
	s.Size = cmp.Or(m.Size, s.Size)
	s.Working = max(s.Working, m.Working)
	s.Waiting = max(s.Waiting, m.Waiting)
}

// band orders answers, the worst last. Out of service because the master is unhealthy is
// worse than out of service because of a hold.
type band int

const (
	unanswered band = iota
	good
	held
	bad
)

func (b band) String() string { return [...]string{"", "good", "held", "bad"}[b] }

func (s Sample) band() band {
	switch {
	case s.Code == 0:
		return unanswered
	case s.Code == http.StatusOK:
		return good
	case s.Held:
		return held
	}
	return bad
}
