package page

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
)

// start is the first moment of a step.
func start() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// pool returns a reading of four JRubies.
func pool(working, waiting int) *check.Pool {
	return &check.Pool{Size: 4, Borrowed: make([]check.Loan, working), Waiting: make([]check.Loan, waiting)}
}

func TestHistoryKeepsTheMostOfEachStep(t *testing.T) {
	var h history
	for _, reading := range []struct {
		second int
		pool   *check.Pool
	}{{1, pool(4, 2)}, {3, pool(1, 0)}, {5, nil}, {11, pool(0, 0)}, {31, pool(3, 0)}} {
		h.Note(start().Add(time.Duration(reading.second)*time.Second), reading.pool)
	}
	var got []sample
	for _, s := range h.last(start().Add(45*time.Second), pool(1, 0)) {
		s.step -= start().Unix() / 10
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
		h.Note(start().Add(at+time.Millisecond), pool(0, 0))
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
		h.Note(start().Add(time.Duration(i)*stepTime), pool(map[int]int{200: 2, steps - 1: 4}[i], map[int]int{200: 6}[i]))
	}
	now := start().Add(steps*stepTime - time.Second)
	for _, tt := range []struct {
		now  *check.Pool
		want string
	}{
		{pool(1, 0), "1 of 4 at work, 0 waiting: In the last hour at most 2 at work, 6 waiting."},
		{nil, "not known: In the last hour at most 2 at work, 6 waiting."},
	} {
		p := newPlot(h.last(now, tt.now))
		if got := p.Now + ": " + p.Most; got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
	if p := newPlot(new(history).last(now, nil)); p.Now+p.Most != "not known" {
		t.Errorf("without a reading it says %+v", p)
	}
	var drawn []string
	for _, s := range newPlot([]sample{{1, 4, 1, 0}, {3, 4, 4, 4}, {4, 4, 0, 0}}).Shapes {
		drawn = append(drawn, s.Class+" "+s.D)
	}
	want := []string{
		"size M356 40V20h1V40M358 40V20h1V40M359 40V20h1V40",
		"working M356 40V35h1V40M358 40V20h1V40",
		"waiting M358 20V0h1V20",
	}
	if diff := cmp.Diff(want, drawn); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
