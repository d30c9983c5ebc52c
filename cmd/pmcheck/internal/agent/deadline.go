package agent

import (
	"sync/atomic"
	"time"
)

// deadline is one of a connection's deadlines, kept without a timer. net/http
// sets four for each request, which as timers cost a tenth of what the whole
// answer does. Nobody cares whether a slow client is given 5 seconds or 6.
type deadline struct {
	due  atomic.Int64 // as a time.Duration since the guard was made; 0 if there is none
	past atomic.Bool  // one that lay in the past was passed on
}

// set takes over a deadline in the future. One in the past, with which net/http
// interrupts a read, is passed on, and its end is too.
func (d *deadline) set(t, born time.Time, pass func(time.Time) error) error {
	after := t.Sub(born)
	switch {
	case t.IsZero():
		d.due.Store(0)
	case after > 0:
		d.due.Store(int64(after))
	default:
		d.past.Store(true)
		return pass(t)
	}
	if d.past.Swap(false) {
		return pass(time.Time{})
	}
	return nil
}

// passed reports whether the deadline has come, so long after the guard was
// made.
func (d *deadline) passed(now time.Duration) bool {
	due := time.Duration(d.due.Load())
	return due != 0 && due <= now
}
