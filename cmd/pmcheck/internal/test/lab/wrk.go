//go:build linux

package lab

import (
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Wrk is one run of the load generator wrk.
type Wrk struct {
	URL         string
	Connections int           // default 1
	Duration    time.Duration // whole seconds; default 1 s
	Reconnect   bool          // a new connection for every request, by Connection: close
}

// WrkResult holds the figures that wrk reports.
type WrkResult struct {
	Requests          int
	RequestsPerSecond float64
	Errors            int // answers other than 2xx and 3xx, and socket errors
}

// Run runs wrk and returns what it reports.
func (w Wrk) Run(tb testing.TB) WrkResult {
	tb.Helper()
	seconds := max(1, int(math.Ceil(w.Duration.Seconds())))
	args := []string{
		"--threads", "1",
		"--connections", strconv.Itoa(max(1, w.Connections)),
		"--duration", fmt.Sprintf("%ds", seconds)}
	if w.Reconnect {
		args = append(args, "--header", "Connection: close")
	}
	result, err := parseWrk(Output(tb, exec.Command(Need(tb, "wrk", "wrk"), append(args, w.URL)...)))
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

// parseWrk reads the report of wrk.
func parseWrk(report string) (WrkResult, error) {
	var r WrkResult
	var total, rate bool
	for line := range strings.Lines(report) {
		line = strings.TrimSpace(line)
		var n, read, write, timeout int
		var f float64
		switch {
		case scan(line, "%d requests in", &n):
			r.Requests, total = n, true
		case scan(line, "Requests/sec: %g", &f):
			r.RequestsPerSecond, rate = f, true
		case scan(line, "Non-2xx or 3xx responses: %d", &n):
			r.Errors += n
		case scan(line, "Socket errors: connect %d, read %d, write %d, timeout %d", &n, &read, &write, &timeout):
			r.Errors += n + read + write + timeout
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
