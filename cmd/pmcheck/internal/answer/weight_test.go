package answer

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

var (
	upVerdict   = check.Verdict{Health: check.Healthy, Reason: check.OK}
	downVerdict = check.Verdict{Health: check.Unhealthy, Reason: check.Refused}
)

// poolOf returns a pool of a size, with numbers of instances that are ready, of those
// that are at work, and of waiting requests.
func poolOf(size, ready, working, waiting int) *check.Pool {
	return &check.Pool{
		Size:     size,
		Free:     ready - working,
		Borrowed: make([]check.Loan, working),
		Waiting:  make([]check.Loan, waiting),
	}
}

func TestRoomShrinksWithDemand(t *testing.T) {
	tests := []struct {
		name                          string
		size, ready, working, waiting int
		want                          float64
	}{
		{"idle", 4, 4, 0, 0, 1},
		{"half at work", 4, 4, 2, 0, 2. / 3},
		{"full", 4, 4, 4, 0, 1. / 2},
		{"as many wait", 4, 4, 4, 4, 1. / 3},
		{"many wait", 4, 4, 4, 192, 0.02},
		{"one instance, at work", 1, 1, 1, 0, 1. / 2},
		{"one instance, with a queue", 1, 1, 1, 9, 1. / 11},
		{"one of four ready", 4, 1, 0, 0, 1. / 4},
		{"one of four ready, and at work", 4, 1, 1, 3, 1. / 8},
		{"flushed", 4, 0, 0, 4, 0},
		{"more than there should be", 4, 5, 0, 0, 1},
	}
	for _, tt := range tests {
		if got := room(poolOf(tt.size, tt.ready, tt.working, tt.waiting)); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A weighing is a master whose pool is read once a second.
type weighing struct {
	Weigher
	now time.Time
}

// after returns the weight after some seconds with the same pool and verdict.
func (w *weighing) after(seconds int, p *check.Pool, v check.Verdict) int {
	weight := w.told
	for range seconds {
		w.now = w.now.Add(time.Second)
		weight = w.weigh(p, w.now, v, w.now)
	}
	return weight
}

func newWeighing() *weighing { return &weighing{now: time.Unix(0, 0)} }

func TestWeightFollowsThePool(t *testing.T) {
	idle, full, overloaded := poolOf(4, 4, 0, 0), poolOf(4, 4, 4, 0), poolOf(4, 4, 4, 1000)
	w := newWeighing()
	for _, step := range []struct {
		name     string
		seconds  int
		pool     *check.Pool
		low, top int
	}{
		{"the first reading counts in full", 1, full, 50, 50},
		{"idle for a second", 1, idle, 55, 70},
		{"idle for three", 2, idle, 76, 88},
		{"idle for a while", 20, idle, 100, 100},
		{"overloaded for three seconds", 3, overloaded, 30, 45},
		{"overloaded for a while", 60, overloaded, 1, 1},
		{"idle for five seconds", 5, idle, 65, 90},
		{"idle again", 20, idle, 100, 100},
	} {
		if got := w.after(step.seconds, step.pool, upVerdict); got < step.low || got > step.top {
			t.Errorf("%s: got %d%%, want %d to %d", step.name, got, step.low, step.top)
		}
	}
}

func TestSmallChangesDoNotChangeTheWeight(t *testing.T) {
	w := newWeighing()
	w.after(30, poolOf(4, 4, 2, 0), upVerdict)
	changes, before := 0, w.told
	for i := range 300 {
		if got := w.after(1, poolOf(4, 4, 1+i%3, 0), upVerdict); got != before {
			changes, before = changes+1, got
		}
	}
	if changes > 1 {
		t.Errorf("between one and three of four at work the weight changed %d times", changes)
	}
}

func TestWeightChangesOnlyWithANewReading(t *testing.T) {
	w := newWeighing()
	w.after(10, poolOf(4, 4, 0, 0), upVerdict)
	read := w.now.Add(time.Second)
	first := w.weigh(poolOf(4, 4, 4, 4), read, upVerdict, read)
	for i := range 10 {
		now := read.Add(time.Duration(i) * 100 * time.Millisecond)
		if got := w.weigh(poolOf(4, 4, 4, 4), read, upVerdict, now); got != first {
			t.Errorf("reading %d: got %d%%, want %d: the pool was not read again", i, got, first)
		}
	}
}

func TestUnreadPoolKeepsTheWeight(t *testing.T) {
	w := newWeighing()
	if got := w.after(3, nil, upVerdict); got != 100 {
		t.Errorf("a pool that was never read: got %d%%, want 100", got)
	}
	w.after(60, poolOf(4, 4, 4, 4), upVerdict)
	if got := w.after(60, nil, upVerdict); got > 40 {
		t.Errorf("a pool that is no longer read: got %d%%, want the last weight", got)
	}
}

func TestMasterThatComesUpIsRamped(t *testing.T) {
	idle := poolOf(4, 4, 0, 0)
	w := newWeighing()
	if got := w.after(5, idle, upVerdict); got != 100 {
		t.Errorf("up before the daemon: got %d%%, want 100", got)
	}
	if got := w.after(5, nil, downVerdict); got != 10 {
		t.Errorf("down: got %d%%, want 10, where the ramp begins", got)
	}
	for _, step := range []struct {
		seconds  int
		low, top int
	}{{1, 10, 12}, {15, 28, 36}, {15, 48, 58}, {15, 70, 80}, {20, 100, 100}} {
		if got := w.after(step.seconds, idle, upVerdict); got < step.low || got > step.top {
			t.Errorf("%d s later: got %d%%, want %d to %d", step.seconds, got, step.low, step.top)
		}
	}
	if !w.rose.IsZero() {
		t.Error("the ramp has not ended")
	}
}

func TestRampMultipliesLoad(t *testing.T) {
	w := newWeighing()
	w.after(1, nil, downVerdict)
	if got := w.after(30, poolOf(4, 4, 4, 4), upVerdict); got < 14 || got > 20 {
		t.Errorf("halfway up the ramp, with a third of the room: got %d%%, want about 18", got)
	}
}

func TestUnknownVerdictStartsNoRamp(t *testing.T) {
	for _, v := range []check.Verdict{
		{Health: check.Unknown, Reason: check.NotProbed},
		{Health: check.Unknown, Reason: check.Stale},
		{Health: check.Warming, Reason: check.JRubyUnread}, // as when pmcheck starts
	} {
		w := newWeighing()
		w.after(3, nil, v)
		if got := w.after(1, poolOf(4, 4, 0, 0), upVerdict); got != 100 {
			t.Errorf("after %s: got %d%%, want 100", v.Reason, got)
		}
	}
}
