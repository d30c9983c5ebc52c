package page

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

func start() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func pool(working, waiting int) *check.Pool {
	return &check.Pool{Size: 4, Borrowed: make([]check.Loan, working), Waiting: make([]check.Loan, waiting)}
}

func TestHistoryKeepsTheMostOfEachStep(t *testing.T) {
	var h history
	for _, reading := range []struct {
		second int
		pool   *check.Pool
	}{{1, pool(4, 2)}, {3, pool(1, 0)}, {5, nil}, {11, pool(0, 0)}, {31, pool(3, 0)}} {
		h.note(start().Add(time.Duration(reading.second)*time.Second), reading.pool)
	}
	var got []sample
	for _, s := range h.last(start().Add(45*time.Second), pool(1, 0)) {
		s.Step -= start().Unix() / 10
		got = append(got, s)
	}
	want := []sample{{0, 4, 4, 2}, {1, 4, 0, 0}, {3, 4, 3, 0}, {4, 4, 1, 0}} // nothing was noted in step 2
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestHistoryForgetsAfterAnHour(t *testing.T) {
	var h history
	for at := time.Duration(0); at < 3*time.Hour; at += 5 * time.Second {
		h.note(start().Add(at+time.Millisecond), pool(0, 0))
	}
	for silence, want := range map[time.Duration]int{
		0: steps, 30 * time.Minute: steps/2 + 1, time.Hour: 1, -2 * time.Hour: 1,
	} {
		if got := len(h.last(start().Add(3*time.Hour-time.Second+silence), nil)); got != want {
			t.Errorf("after %s of silence there are %d samples, want %d", silence, got, want)
		}
	}
}

// The end of the plot is what the page says of now, not the most of the last ten seconds.
func TestPlotSaysWhatItShows(t *testing.T) {
	var h history
	for i := range steps {
		h.note(start().Add(time.Duration(i)*stepTime), pool(map[int]int{200: 2, steps - 1: 4}[i], map[int]int{200: 6}[i]))
	}
	now := start().Add(steps*stepTime - time.Second)
	p := newPlot(h.last(now, pool(1, 0)))
	if p.Now.Working != 1 || p.Now.Waiting != 0 || p.Most.Working != 2 || p.Most.Waiting != 6 {
		t.Errorf("now %+v, at most %+v; want 1 at work, at most 2 and 6", p.Now, p.Most)
	}
	p = newPlot([]sample{{1, 4, 1, 0}, {3, 4, 4, 4}, {4, 4, 0, 0}})
	want := []string{
		"M356 40V20h1V40M358 40V20h1V40M359 40V20h1V40",
		"M356 40V35h1V40M358 40V20h1V40",
		"M358 20V0h1V20",
	}
	if diff := cmp.Diff(want, []string{p.Size, p.Working, p.Waiting}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestACertificateIsLateAsTheSettingSays(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Now()
	for warn, want := range map[time.Duration]string{30 * day: "ok", 500 * day: "warn"} {
		v := &view{Status: status.Status{Time: now, Probe: status.ProbeStatus{ExpiryWarn: warn.Seconds()}}}
		if got := v.Expires(check.Expiry{Of: "own", Until: now.Add(400 * day)}); got != want {
			t.Errorf("expiry.warn %s: %s, want %s", warn, got, want)
		}
	}
}
