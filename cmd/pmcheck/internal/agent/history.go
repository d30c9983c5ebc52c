package agent

import (
	"sync"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// The history is an hour in slots of ten seconds. Its memory is taken once:
// 360 samples of 64 bytes, 23 KiB, however long the daemon runs.
const (
	slotTime = 10 * time.Second
	slots    = 360
)

// Sample is the worst of ten seconds. What is zero was not seen in that time.
type Sample struct {
	Code    int           // the answer to a balancer that chose no codes
	Held    bool          // that answer was the operators' wish
	Took    time.Duration // of the slowest probe that was answered
	Failed  bool          // a probe found a fault
	Size    int           // of the JRuby pool
	Working int           // JRubies at work
	Waiting int           // requests that waited for one

	slot int64
}

// history remembers the last hour. It is safe for concurrent use.
type history struct {
	start time.Time

	mu    sync.Mutex
	ring  [slots]Sample
	asked time.Time // when the last probe in it began
}

func newHistory(start time.Time) *history { return &history{start: start} }

// slot numbers the time since the start, by the monotonic clock: who sets the
// wall clock does not tear the plots. 0 is no slot.
func (h *history) slot(t time.Time) int64 { return int64(t.Sub(h.start)/slotTime) + 1 }

// note takes in what the loop has just published.
func (h *history) note(s *state) {
	slot := h.slot(s.turned)
	h.mu.Lock()
	defer h.mu.Unlock()
	sample := &h.ring[slot%slots]
	if sample.slot != slot {
		*sample = Sample{slot: slot}
	}
	if r := s.result; r.Asked.After(h.asked) {
		h.asked = r.Asked
		sample.probed(r)
	}
	for _, f := range s.findings {
		if f.Pool != nil {
			sample.pooled(f.Pool)
		}
	}
	if server, known := s.find(Server); known && s.probes > 0 && server.verdict.Reason != check.JRubyUnread {
		mode, _ := s.mode(Server, s.turned)
		sample.answered(Decide(mode, server.verdict.At(s.turned), Codes{}).Code, mode != drain.Ready)
	}
}

// last returns the samples of the last hour, the oldest first and that of now
// last. There are always as many; while the loop stood still they are zero.
func (h *history) last(now time.Time) []Sample {
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

func (s *Sample) probed(r check.Result) {
	if r.Fault != nil {
		s.Failed = true
		return
	}
	s.Took = max(s.Took, r.Took)
}

func (s *Sample) pooled(p *check.Pool) {
	s.Size = p.Size
	s.Working = max(s.Working, len(p.Borrowed))
	s.Waiting = max(s.Waiting, len(p.Waiting))
}

// answered keeps the worse answer: out because the master is not well is worse
// than out because somebody wants it so.
func (s *Sample) answered(code int, held bool) {
	worse := s.Code == 0 || s.Code == 200 && code != 200 || s.Code != 200 && s.Held && code != 200 && !held
	if worse {
		s.Code, s.Held = code, held
	}
}
