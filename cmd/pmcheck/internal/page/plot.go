package page

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// plot is one row of the last hour: a drawing, and the same in words.
type plot struct {
	Name    string
	Now     string // the value at the end
	Summary string // of the hour
	Shapes  []shape
}

// shape is one path of a drawing that is slots wide and plotHeight high, and what
// it means.
type shape struct{ Class, D, Means string }

const (
	plotHeight = 40
	noNews     = "no news"
)

// plots draws the answers, the probes and the pool.
func plots(samples []Sample) []plot {
	return []plot{plotAnswers(samples), plotProbes(samples), plotPool(samples)}
}

// plotAnswers draws each answer with a height: low while in service, half while held,
// full while out.
func plotAnswers(samples []Sample) plot {
	p := plot{Name: "Answer", Now: noNews}
	var parts []string
	for _, row := range []struct {
		band   band
		height float64
		text   string
	}{{good, 0.2, "in service"}, {held, 0.5, "held"}, {bad, 1, "out"}} {
		count := 0
		outline := area(samples, nothing, func(s Sample) float64 {
			if s.band() != row.band {
				return 0
			}
			return row.height
		})
		for _, s := range samples {
			if s.band() == row.band {
				count++
			}
		}
		p.Shapes = append(p.Shapes, shape{row.band.String(), outline, row.text})
		if count > 0 {
			parts = append(parts, row.text+" "+slotsText(count))
		}
	}
	p.Summary = strings.Join(parts, ", ")
	if last, ok := latest(samples, func(s Sample) bool { return s.Code != 0 }); ok {
		p.Now = fmt.Sprint(last.Code)
	}
	return p
}

func plotProbes(samples []Sample) plot {
	var slowest time.Duration
	failed := 0
	for _, s := range samples {
		slowest = max(slowest, s.Took)
		if s.Failed {
			failed++
		}
	}
	p := plot{Name: "Probe", Now: noNews, Shapes: []shape{
		{"line", area(samples, nothing, func(s Sample) float64 { return float64(s.Took) / float64(max(1, slowest)) }),
			"time to answer"},
		{"mark", marks(samples, func(s Sample) bool { return s.Failed }), "failed"},
	}}
	var parts []string
	if slowest > 0 {
		parts = append(parts, "slowest "+text.Latency(slowest))
	}
	if failed > 0 {
		parts = append(parts, "failed for "+slotsText(failed))
	}
	p.Summary = strings.Join(parts, ", ")
	if last, ok := latest(samples, func(s Sample) bool { return s.Took > 0 || s.Failed }); ok {
		p.Now = text.Latency(last.Took)
		if last.Failed {
			p.Now = "failed"
		}
	}
	return p
}

// plotPool draws the busy JRubies and on top of them the waiting requests. A line shows
// the number of JRubies.
func plotPool(samples []Sample) plot {
	size, working, waiting, top := 0, 0, 0, 0
	for _, s := range samples {
		size = max(size, s.Size)
		working, waiting = max(working, s.Working), max(waiting, s.Waiting)
		top = max(top, s.Size, s.Working+s.Waiting)
	}
	of := func(value func(Sample) int) func(Sample) float64 {
		return func(s Sample) float64 { return float64(value(s)) / float64(max(1, top)) }
	}
	work := of(func(s Sample) int { return s.Working })
	p := plot{Name: "JRuby", Now: noNews, Shapes: []shape{
		{"limit", area(samples, nothing, of(func(s Sample) int { return s.Size })), "JRubies"},
		{"line", area(samples, nothing, work), "at work"},
		{"wait", area(samples, work, of(func(s Sample) int { return s.Working + s.Waiting })), "requests that wait for one"},
	}}
	if size == 0 {
		return p
	}
	p.Summary = fmt.Sprintf("at most %d at work, %d waiting", working, waiting)
	if last, ok := latest(samples, func(s Sample) bool { return s.Size > 0 }); ok {
		p.Now = fmt.Sprintf("%d of %d at work", last.Working, last.Size)
	}
	return p
}

// area draws the area between two heights from 0 to 1, in steps of a slot. Adjacent
// steps are one outline: two would show a seam.
func area(samples []Sample, bottom, top func(Sample) float64) string {
	y := func(height float64) int { return plotHeight - int(math.Ceil(height*plotHeight)) } // small values stay visible
	var b strings.Builder
	for i := 0; i < len(samples); i++ {
		begin, low := i, []int{}
		for ; i < len(samples); i++ {
			from, to := y(bottom(samples[i])), y(top(samples[i]))
			if from <= to {
				break
			}
			if low = append(low, from); i == begin {
				fmt.Fprintf(&b, "M%d %d", i, from)
			}
			fmt.Fprintf(&b, "V%dh1", to)
		}
		for k := len(low) - 1; k >= 0; k-- {
			fmt.Fprintf(&b, "V%dh-1", low[k])
		}
	}
	return b.String()
}

func nothing(Sample) float64 { return 0 }

// marks draws a line from top to bottom for each sample that is picked. The line has a
// fixed width: on a phone, a slot is a fraction of a pixel wide.
func marks(samples []Sample, picked func(Sample) bool) string {
	var b strings.Builder
	for i, s := range samples {
		if picked(s) {
			fmt.Fprintf(&b, "M%d.5 0V%d", i, plotHeight)
		}
	}
	return b.String()
}

// latest returns the last sample that is picked, if it is from the last minute.
func latest(samples []Sample, picked func(Sample) bool) (Sample, bool) {
	for i := len(samples) - 1; i >= max(0, len(samples)-int(time.Minute/slotTime)); i-- {
		if picked(samples[i]) {
			return samples[i], true
		}
	}
	return Sample{}, false
}

func slotsText(n int) string { return text.Age(time.Duration(n) * slotTime) }
