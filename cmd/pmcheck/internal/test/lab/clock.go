//go:build linux

package lab

import (
	"sync"
	"testing"
	"time"
)

// The bounds that pmcheck promises are bounds of pmcheck, not of the machine. On
// a machine whose CPUs are busy with something else, a test asks late and
// pmcheck is scheduled late. A control measures that in the same run: a
// goroutine that does nothing but sleep for controlPeriod, and records by how
// much it woke up late. A bound is compared with the time that passed less the
// time for which the control was late.
const controlPeriod = 2 * time.Millisecond

// A delay is a time for which the control should have been running and was not.
type delay struct{ from, to time.Time }

// delays are those of the whole test process, oldest first.
type delays struct {
	mu   sync.Mutex
	list []delay
}

var control delays

// watchStarvation starts the control, for as long as the process lives.
func watchStarvation() {
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

// between adds up the delays between two moments.
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

// Between returns how long it took from one moment to another, less the time for
// which the control was late: what a bound is compared with. It is negative, and
// as measured, when to comes before from.
func Between(from, to time.Time) time.Duration {
	if to.Before(from) {
		return to.Sub(from)
	}
	return to.Sub(from) - control.between(from, to)
}

// Since is Between until now.
func Since(from time.Time) time.Duration { return Between(from, time.Now()) }

// Starved returns for how long the control was late between two moments.
func Starved(from, to time.Time) time.Duration { return control.between(from, to) }

// WaitFor calls fn every so often until it returns nil, and returns how long that
// took by Since. When it has not after within, the test fails with fn's last
// error.
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
			tb.Fatalf("not within %v: %v", within, err)
		}
		time.Sleep(every)
	}
}

// Pause lets a time pass, for what must not happen meanwhile. It is no way to wait
// for an event: see WaitFor. It ends with the test.
func Pause(tb testing.TB, d time.Duration) {
	select {
	case <-time.After(d):
	case <-tb.Context().Done():
	}
}
