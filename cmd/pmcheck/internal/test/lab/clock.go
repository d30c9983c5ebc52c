package lab

import (
	"sync"
	"testing"
	"time"
)

// The time bounds that pmcheck promises do not include delays of the machine. When the
// CPUs are busy with other work, a test asks late and pmcheck is scheduled late. A control
// measures this in the same run: a goroutine that only sleeps for controlPeriod and records
// how late it wakes up. Tests compare a bound with the elapsed time less the time for which
// the control was late.
const controlPeriod = 2 * time.Millisecond

// A delay is an interval in which the control was due to run and did not.
type delay struct{ from, to time.Time }

// delays holds the delays of the whole test process, oldest first.
type delays struct {
	mu   sync.Mutex
	list []delay
}

var control delays

// WatchStarvation starts the control, which runs until the process ends. Main calls it.
func WatchStarvation() {
	go func() {
		for due := time.Now().Add(controlPeriod); ; due = time.Now().Add(controlPeriod) {
			time.Sleep(time.Until(due))
			if now := time.Now(); now.Sub(due) > controlPeriod {
				control.add(delay{due, now})
			}
		}
	}()
}

func (d *delays) add(one delay) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one)
}

// between returns the sum of the delays between two moments.
func (d *delays) between(from, to time.Time) (sum time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(d.list) - 1; i >= 0 && d.list[i].to.After(from); i-- {
		begin, end := d.list[i].from, d.list[i].to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(0, end.Sub(begin))
	}
	return sum
}

// Between returns the time between two moments less the time for which the control was
// late. Tests compare bounds with it. If to is before from, it returns the negative
// difference, without a correction.
func Between(from, to time.Time) time.Duration {
	if to.Before(from) {
		return to.Sub(from)
	}
	return to.Sub(from) - control.between(from, to)
}

// Since returns Between(from, time.Now()).
func Since(from time.Time) time.Duration { return Between(from, time.Now()) }

// A long wait needs no more precision than a hundredth of it, and leaves the machine to what is waited for.
const (
	precision = 100
	longest   = 100 * time.Millisecond // pause
)

// WaitFor calls fn until fn returns nil, and returns how long that took by Since. The pause in between is every, and
// longer in a long wait, up to 100 ms. If fn still fails after within, the test fails with its last error.
func WaitFor(tb testing.TB, within, every time.Duration, fn func() error) time.Duration {
	tb.Helper()
	start := time.Now()
	for {
		err := fn()
		took := Since(start)
		if err == nil {
			return took
		}
		if took > within {
			tb.Fatalf("timeout after %v: %v", within, err)
		}
		time.Sleep(max(every, min(took/precision, longest)))
	}
}

// Pause blocks for d, in tests that show that something does not happen within d. To wait
// for an event, use WaitFor. Pause returns early when the test ends.
func Pause(tb testing.TB, d time.Duration) {
	select {
	case <-time.After(d):
	case <-tb.Context().Done():
	}
}
