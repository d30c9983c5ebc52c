package page

import (
	"fmt"
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
		most = most.max(s)
		top = max(top, s.Size, s.Working+s.Waiting)
	}
	var size, working, waiting strings.Builder
	for i, s := range samples {
		bar(&size, i, top, 0, s.Size)
		bar(&working, i, top, 0, s.Working)
		bar(&waiting, i, top, s.Working, s.Working+s.Waiting)
	}
	p := plot{Now: "not known", Shapes: []shape{
		{"size", size.String(), "JRubies"},
		{"working", working.String(), "at work"},
		{"waiting", waiting.String(), "requests that wait for one"},
	}}
	if now.Size > 0 {
		p.Now = fmt.Sprintf("%d of %d at work, %d waiting", now.Working, now.Size, now.Waiting)
	}
	if most.Size > 0 {
		p.Most = fmt.Sprintf("In the last hour at most %d at work, %d waiting.", most.Working, most.Waiting)
	}
	return p
}

// bar draws a bar in step i between two numbers, if there is one; top is the number at the upper edge.
func bar(b *strings.Builder, i, top, from, to int) {
	y := func(n int) int { return plotHeight - (n*plotHeight+top-1)/top } // small numbers stay visible
	if from < to {
		fmt.Fprintf(b, "M%d %dV%dh1V%d", i, y(from), y(to), y(from))
	}
}
