//go:build linux

package lab

import (
	"testing"
	"time"
)

func TestOnlyThePartOfADelayWithinTheIntervalCounts(t *testing.T) {
	zero := time.Now()
	at := func(ms int) time.Time { return zero.Add(time.Duration(ms) * time.Millisecond) }
	d := &delays{}
	d.add(delay{at(10), at(20)})
	d.add(delay{at(30), at(50)})
	for _, test := range []struct{ from, to, want int }{
		{0, 5, 0},
		{0, 100, 30},
		{12, 18, 6},
		{15, 40, 15},
		{20, 30, 0},
		{45, 100, 5},
		{60, 100, 0},
	} {
		if got := d.between(at(test.from), at(test.to)); got != time.Duration(test.want)*time.Millisecond {
			t.Errorf("from %d to %d: %v, want %d ms", test.from, test.to, got, test.want)
		}
	}
}
