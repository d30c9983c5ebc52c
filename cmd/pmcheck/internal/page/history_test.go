package page

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// past is a history and its start.
type past struct {
	*History
	start time.Time
}

func newPast() past {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return past{NewHistory(start), start}
}

// probed notes a probe of a held master at a time since the start.
func (p past) probed(at, took time.Duration, failed bool, size, working, waiting int) {
	now := p.start.Add(at)
	p.Note(Moment{Time: now, Asked: now, Sample: Sample{
		Code:    503,
		Held:    true,
		Took:    took,
		Failed:  failed,
		Size:    size,
		Working: working,
		Waiting: waiting,
	}})
}

func TestHistoryKeepsTheWorstOfEachSlot(t *testing.T) {
	p := newPast()
	p.probed(time.Second, 3*time.Millisecond, false, 4, 4, 2)
	p.probed(3*time.Second, 9*time.Millisecond, false, 4, 1, 0)
	p.probed(5*time.Second, time.Second, true, 0, 0, 0)
	p.probed(11*time.Second, 2*time.Millisecond, false, 0, 0, 0)
	p.probed(31*time.Second, 2*time.Millisecond, false, 0, 0, 0)

	got := p.Last(p.start.Add(35 * time.Second))
	want := []Sample{
		{Code: 503, Held: true, Took: 9 * time.Millisecond, Failed: true, Size: 4, Working: 4, Waiting: 2, slot: 1},
		{Code: 503, Held: true, Took: 2 * time.Millisecond, slot: 2},
		{}, // nothing was noted
		{Code: 503, Held: true, Took: 2 * time.Millisecond, slot: 4},
	}
	if len(got) != slots {
		t.Fatalf("%d samples, want %d", len(got), slots)
	}
	if diff := cmp.Diff(want, got[slots-4:], cmp.AllowUnexported(Sample{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestProbeCountsOnce(t *testing.T) {
	p := newPast()
	m := Moment{Time: p.start.Add(time.Second), Asked: p.start.Add(time.Second), Sample: Sample{Took: time.Second}}
	p.Note(m)
	m.Time = p.start.Add(12 * time.Second) // after another event
	p.Note(m)
	if got := p.Last(m.Time)[slots-1].Took; got != 0 {
		t.Errorf("took %s in a slot without a probe", got)
	}
}

func TestHistoryForgetsAfterAnHour(t *testing.T) {
	p := newPast()
	for at := time.Duration(0); at < 3*time.Hour; at += 5 * time.Second {
		p.probed(at+time.Millisecond, at, false, 0, 0, 0)
	}
	for _, silence := range []time.Duration{0, 30 * time.Minute, 61 * time.Minute, 1000 * time.Hour} {
		seen := 0
		for _, s := range p.Last(p.start.Add(3*time.Hour - time.Second + silence)) {
			if s.Code != 0 {
				seen++
			}
		}
		if want := max(0, slots-int(silence/slotTime)); seen != want {
			t.Errorf("after %s of silence %d samples are left, want %d", silence, seen, want)
		}
	}
	if size := unsafe.Sizeof(p.ring); size > 23<<10 {
		t.Errorf("the history takes %d bytes", size)
	}
}

func TestWorseAnswerIsKept(t *testing.T) {
	type told struct {
		code int
		held bool
	}
	in, held, out := told{200, false}, told{503, true}, told{503, false}
	tests := []struct {
		name       string
		said       []told
		code       int
		deliberate bool
	}{
		{"none", nil, 0, false},
		{"in service", []told{in, in}, 200, false},
		{"held", []told{in, held, in}, 503, true},
		{"out", []told{in, held, out, held, in}, 503, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Sample
			for _, a := range tt.said {
				s.add(Sample{Code: a.code, Held: a.held})
			}
			if s.Code != tt.code || s.Held != tt.deliberate {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestAreaIsOneOutline(t *testing.T) {
	heights := []float64{0, 1, 0.5, 0, 0.001}
	samples := make([]Sample, len(heights))
	for i := range samples {
		samples[i].Waiting = i
	}
	top := func(s Sample) float64 { return heights[s.Waiting] }
	want := "M1 40V0h1V20h1V40h-1V40h-1" + "M4 40V39h1V40h-1"
	if got := area(samples, nothing, top); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPlotsSayWhatTheyShow(t *testing.T) {
	hour := make([]Sample, slots)
	for i := range hour {
		hour[i] = Sample{Code: 200, Took: 4 * time.Millisecond, Size: 4, Working: 1}
	}
	hour[100] = Sample{Code: 503, Failed: true}
	hour[200] = Sample{Code: 503, Held: true, Took: 300 * time.Millisecond, Size: 4, Working: 4, Waiting: 6}
	silent := make([]Sample, slots)
	copy(silent, hour[:slots-6])
	tests := []struct {
		name    string
		samples []Sample
		want    string
	}{
		{"an hour", hour, "Answer 200: in service 59m, held 10s, out 10s; Probe 4ms: slowest 300ms, failed for 10s; " +
			"JRuby 1 of 4 at work: at most 4 at work, 6 waiting"},
		{"silence", silent, "Answer no news: in service 58m, held 10s, out 10s; " +
			"Probe no news: slowest 300ms, failed for 10s; JRuby no news: at most 4 at work, 6 waiting"},
		{"nothing", nil, "Answer no news: ; Probe no news: ; JRuby no news: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var parts []string
			for _, p := range plots(tt.samples) {
				parts = append(parts, p.Name+" "+p.Now+": "+p.Summary)
			}
			if got := strings.Join(parts, "; "); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestEveryColourHasAKey: the key explains each line and colour of a plot.
func TestEveryColourHasAKey(t *testing.T) {
	for _, p := range plots(make([]Sample, slots)) {
		said := map[string]string{}
		for _, s := range p.Shapes {
			if s.Means == "" {
				t.Errorf("%s: %s is not explained", p.Name, s.Class)
			}
			if other := said[s.Means]; other != "" {
				t.Errorf("%s: %s and %s mean %q", p.Name, other, s.Class, s.Means)
			}
			said[s.Means] = s.Class
		}
	}
}
