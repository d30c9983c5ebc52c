//go:build linux

package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Wrk is one run of the load generator wrk.
type Wrk struct {
	URL         string
	Threads     int           // default 1
	Connections int           // default 1; at least Threads
	Duration    time.Duration // whole seconds; default 1 s
	Reconnect   bool          // a new connection for every request, by Connection: close
	Header      []string      // further headers, "Name: value"
	Network     *Network      // where it runs; nil is the machine's own network
}

// WrkResult holds the figures that wrk reports.
type WrkResult struct {
	Requests          int
	RequestsPerSecond float64
	P50, P75          time.Duration // latency percentiles
	P90, P99          time.Duration
	Errors            int // answers other than 2xx and 3xx, and socket errors
}

// Run runs wrk and returns what it reports.
func (w Wrk) Run(tb testing.TB) WrkResult {
	tb.Helper()
	seconds := max(1, int(math.Ceil(w.Duration.Seconds())))
	threads := max(1, w.Threads)
	args := []string{"--latency",
		"--threads", strconv.Itoa(threads),
		"--connections", strconv.Itoa(max(threads, w.Connections)),
		"--duration", fmt.Sprintf("%ds", seconds)}
	if w.Reconnect {
		args = append(args, "--header", "Connection: close")
	}
	for _, header := range w.Header {
		args = append(args, "--header", header)
	}
	out, err := w.Network.Command(Need(tb, "wrk", "wrk"), append(args, w.URL)...).CombinedOutput()
	if err != nil {
		tb.Fatalf("wrk: %v\n%s", err, out)
	}
	result, err := ParseWrk(string(out))
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

// ParseWrk reads the report of wrk --latency.
func ParseWrk(report string) (WrkResult, error) {
	var r WrkResult
	var total, rate bool
	for line := range strings.Lines(report) {
		line = strings.TrimSpace(line)
		var n, read, write, timeout int
		var f float64
		var latency string
		switch {
		case scan(line, "%d requests in", &n):
			r.Requests, total = n, true
		case scan(line, "Requests/sec: %g", &f):
			r.RequestsPerSecond, rate = f, true
		case scan(line, "Non-2xx or 3xx responses: %d", &n):
			r.Errors += n
		case scan(line, "Socket errors: connect %d, read %d, write %d, timeout %d", &n, &read, &write, &timeout):
			r.Errors += n + read + write + timeout
		case scan(line, "%d%% %s", &n, &latency):
			if err := r.setPercentile(n, latency); err != nil {
				return WrkResult{}, err
			}
		}
	}
	if !total || !rate {
		return WrkResult{}, fmt.Errorf("not a report of wrk: %q", report)
	}
	return r, nil
}

func scan(line, format string, values ...any) bool {
	_, err := fmt.Sscanf(line, format, values...)
	return err == nil
}

// setPercentile stores a latency. wrk writes latencies as Go does: 612.00us, 1.43ms, 2.01s,
// 1.50m.
func (r *WrkResult) setPercentile(percent int, latency string) error {
	d, err := time.ParseDuration(latency)
	if err != nil {
		return fmt.Errorf("wrk: %d%% latency: %w", percent, err)
	}
	switch percent {
	case 50:
		r.P50 = d
	case 75:
		r.P75 = d
	case 90:
		r.P90 = d
	case 99:
		r.P99 = d
	}
	return nil
}
