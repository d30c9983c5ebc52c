package page

import (
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// The history is an hour in slots of ten seconds. Its memory is taken once:
// 360 samples of 64 bytes, 23 KiB, however long the daemon runs.
const (
	slotTime = 10 * time.Second
	slots    = 360
)

// Sample is the worst of ten seconds. A zero field was not seen in that time.
type Sample struct {
	Code    int           // the answer to a balancer that chose no codes
	Held    bool          // the answer came from a hold
	Took    time.Duration // of the slowest probe that was answered
	Failed  bool          // a probe found a fault
	Size    int           // of the JRuby pool
	Working int           // JRubies at work
	Waiting int           // requests that waited for one

	slot int64
}

// Moment is what the history is told of the master at one time.
type Moment struct {
	Time time.Time
	Code int  // the answer to a balancer that chose no codes; 0 before the first verdict
	Held bool // the master is held
	// Asked, Took and Failed are of the last probe. One that has the same Asked as
	// in the moment before is the same probe.
	Asked  time.Time
	Took   time.Duration
	Failed bool
	Pool   *check.Pool // nil if it is not known
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

// slot numbers the time since the start by the monotonic clock, so setting the
// wall clock does not tear the plots. 0 is no slot.
func (h *History) slot(t time.Time) int64 { return int64(t.Sub(h.start)/slotTime) + 1 }

// Note takes in a moment.
func (h *History) Note(m Moment) {
	slot := h.slot(m.Time)
	h.mu.Lock()
	defer h.mu.Unlock()
	sample := &h.ring[slot%slots]
	if sample.slot != slot {
		*sample = Sample{slot: slot}
	}
	if m.Asked.After(h.asked) {
		h.asked = m.Asked
		sample.probed(m)
	}
	if m.Pool != nil {
		sample.pooled(m.Pool)
	}
	if m.Code != 0 {
		sample.answered(m.Code, m.Held)
	}
}

// Last returns the samples of the last hour, the oldest first and that of now
// last. Their number is always the same; where nothing was noted they are zero.
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

func (s *Sample) probed(m Moment) {
	if m.Failed {
		s.Failed = true
		return
	}
	s.Took = max(s.Took, m.Took)
}

func (s *Sample) pooled(p *check.Pool) {
	s.Size = p.Size
	s.Working = max(s.Working, len(p.Borrowed))
	s.Waiting = max(s.Waiting, len(p.Waiting))
}

// answered keeps the worse answer. Out of service because the master is not well
// is worse than out of service because of a hold.
func (s *Sample) answered(code int, held bool) {
	worse := s.Code == 0 || s.Code == 200 && code != 200 || s.Code != 200 && s.Held && code != 200 && !held
	if worse {
		s.Code, s.Held = code, held
	}
}
