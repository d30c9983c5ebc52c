package page

import (
	"fmt"
	"math"
	"strings"
)

// plot is the JRuby pool of the last hour: a drawing, and the same in words.
type plot struct {
	Now    string // the last step
	Most   string // of the hour
	Shapes []shape
}

// shape is one path of a drawing that is as wide as there are steps and plotHeight high, and what
// it means.
type shape struct{ Class, D, Means string }

const plotHeight = 40

// newPlot draws the busy JRubies and on top of them the waiting requests, in front of the number of
// JRubies. now is what the rest of the page shows: it takes the place of the last step, whose most
// it may no longer be, so that the drawing and the words agree.
func newPlot(samples []Sample, now Sample) plot {
	if len(samples) > 0 {
		samples[len(samples)-1] = now
	}
	var most Sample
	top := 1
	for _, s := range samples {
		most = Sample{max(most.Size, s.Size), max(most.Working, s.Working), max(most.Waiting, s.Waiting)}
		top = max(top, s.Size, s.Working+s.Waiting)
	}
	of := func(value func(Sample) int) func(Sample) float64 {
		return func(s Sample) float64 { return float64(value(s)) / float64(top) }
	}
	nothing, work := of(func(Sample) int { return 0 }), of(func(s Sample) int { return s.Working })
	p := plot{Now: "not known", Shapes: []shape{
		{"limit", area(samples, nothing, of(func(s Sample) int { return s.Size })), "JRubies"},
		{"line", area(samples, nothing, work), "at work"},
		{"wait", area(samples, work, of(func(s Sample) int { return s.Working + s.Waiting })), "requests that wait for one"},
	}}
	if now.Size > 0 {
		p.Now = fmt.Sprintf("%d of %d at work, %d waiting", now.Working, now.Size, now.Waiting)
	}
	if most.Size > 0 {
		p.Most = fmt.Sprintf("In the last hour at most %d at work, %d waiting.", most.Working, most.Waiting)
	}
	return p
}

// area draws the area between two heights from 0 to 1, in steps. Adjacent steps are one
// outline: two would show a seam.
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
