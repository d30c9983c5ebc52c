package render

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// watchEvery is how often a watched status is read. The daemon answers from
// memory, so reading costs the master nothing.
const watchEvery = time.Second

// Watch shows a status until it is interrupted: on a terminal as a screen that
// is drawn again, with the probe's latency as a curve; elsewhere as a line for
// each change.
func Watch(ctx context.Context, w io.Writer, read func(context.Context) Screen) error {
	overwrite := terminal(w)
	var latencies []float64
	last := ""
	for {
		s := read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case overwrite:
			if s.Latency > 0 {
				latencies = append(latencies, s.Latency)
				latencies = latencies[max(0, len(latencies)-60):]
			}
			fmt.Fprintf(w, "\033[H\033[2J%s", s.Text)
			if len(latencies) > 1 {
				fmt.Fprintf(w, "\nlatency  %s  %.1f ms\n", sparkline(latencies), s.Latency*1000)
			}
		case s.Line != last:
			fmt.Fprintf(w, "%s  %s\n", time.Now().Format(time.TimeOnly), s.Line)
		}
		last = s.Line
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// Screen is one moment of what is watched.
type Screen struct {
	Text    string  // the whole, for a terminal
	Line    string  // what matters, for a log
	Latency float64 // of the last probe, in seconds; 0 if there is none
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
