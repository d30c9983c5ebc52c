package page

import (
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
	var h History
	h.Note(start().Add(time.Second), pool(4, 2))
	h.Note(start().Add(3*time.Second), pool(1, 0))
	h.Note(start().Add(5*time.Second), nil)
	h.Note(start().Add(11*time.Second), pool(0, 0))
	h.Note(start().Add(31*time.Second), pool(3, 0))
	got := h.Last(start().Add(35 * time.Second))
	want := []Sample{
		{Size: 4, Working: 4, Waiting: 2},
		{Size: 4},
		{}, // nothing was noted
		{Size: 4, Working: 3},
	}
	if len(got) != steps {
		t.Fatalf("%d samples, want %d", len(got), steps)
	}
	if diff := cmp.Diff(want, got[steps-4:]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHistoryForgetsAfterAnHour(t *testing.T) {
	var h History
	for at := time.Duration(0); at < 3*time.Hour; at += 5 * time.Second {
		h.Note(start().Add(at+time.Millisecond), pool(0, 0))
	}
	for _, silence := range []time.Duration{0, 30 * time.Minute, 61 * time.Minute, 1000 * time.Hour} {
		seen := 0
		for _, s := range h.Last(start().Add(3*time.Hour - time.Second + silence)) {
			if s.Size != 0 {
				seen++
			}
		}
		if want := max(0, steps-int(silence/stepTime)); seen != want {
			t.Errorf("after %s of silence %d samples are left, want %d", silence, seen, want)
		}
	}
}

// The end of the plot is what the page says of now, not the most of the last ten seconds.
func TestPlotSaysWhatItShows(t *testing.T) {
	hour := make([]Sample, steps)
	for i := range hour {
		hour[i] = Sample{Size: 4, Working: 1}
	}
	hour[200] = Sample{Size: 4, Working: 2, Waiting: 6}
	hour[steps-1] = Sample{Size: 4, Working: 4}
	for _, tt := range []struct {
		samples []Sample
		now     Sample
		want    string
	}{
		{hour, Sample{4, 1, 0}, "1 of 4 at work, 0 waiting: In the last hour at most 2 at work, 6 waiting."},
		{hour, Sample{}, "not known: In the last hour at most 2 at work, 6 waiting."},
		{nil, Sample{}, "not known: "},
	} {
		p := newPlot(tt.samples, tt.now)
		if got := p.Now + ": " + p.Most; got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
		if len(tt.samples) > 0 && tt.samples[steps-1] != tt.now {
			t.Errorf("the last step shows %+v, want %+v", tt.samples[steps-1], tt.now)
		}
	}
	var drawn []string
	for _, s := range newPlot([]Sample{{4, 1, 0}, {}, {Size: 4, Working: 4, Waiting: 4}, {}}, Sample{4, 0, 0}).Shapes {
		drawn = append(drawn, s.Class+" "+s.D)
	}
	want := []string{
		"size M0 40V20h1V40M2 40V20h1V40M3 40V20h1V40",
		"working M0 40V35h1V40M2 40V20h1V40",
		"waiting M2 20V0h1V20",
	}
	if diff := cmp.Diff(want, drawn); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
