package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// watchEvery is how often a watched status is read. It comes from memory, and
// costs the master nothing.
const watchEvery = time.Second

// watch shows a status until it is interrupted: on a terminal as a screen that
// is drawn again, with the probe's latency as a curve; elsewhere as a line for
// each change.
func watch(ctx context.Context, w io.Writer, read func(context.Context) screen) error {
	terminal := isTerminal(w)
	var latencies []float64
	last := ""
	for {
		s := read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case terminal:
			if s.latency > 0 {
				latencies = append(latencies, s.latency)
				latencies = latencies[max(0, len(latencies)-60):]
			}
			fmt.Fprintf(w, "\033[H\033[2J%s", s.text)
			if len(latencies) > 1 {
				fmt.Fprintf(w, "\nlatency  %s  %.1f ms\n", sparkline(latencies), s.latency*1000)
			}
		case s.line != last:
			fmt.Fprintf(w, "%s  %s\n", time.Now().Format(time.TimeOnly), s.line)
		}
		last = s.line
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// screen is one moment of what is watched.
type screen struct {
	text    string  // the whole, for a terminal
	line    string  // what matters, for a log
	latency float64 // of the last probe, in seconds; 0 if there is none
}

// sparkline draws values as a curve of one line, from nothing to the highest.
func sparkline(values []float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	highest := 0.0
	for _, v := range values {
		highest = max(highest, v)
	}
	var b strings.Builder
	for _, v := range values {
		level := 0
		if highest > 0 {
			level = int(v / highest * float64(len(bars)-1))
		}
		b.WriteRune(bars[level])
	}
	return b.String()
}
