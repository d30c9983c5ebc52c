//go:build linux

package bench_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// BenchmarkSystemCalls counts the system calls that servers make for an answer over a new
// connection. System calls are most of the cost of an answer, and explain why one server
// cannot be as fast as another.
func BenchmarkSystemCalls(b *testing.B) {
	var servers []*server
	master := lab.StartStandIn(b, "master.bench.example")
	onCPU(b, 1, func() { servers = startServers(b, master) })
	t := &table{title: "System calls per answer, a new connection for each request, 16 at a time, one CPU"}
	t.row("", "all", "which")
	for _, s := range servers {
		waitForAnswer(b, s.url)
		calls, all := countCalls(b, s), 0.0
		names := []string{}
		for _, c := range calls {
			all += c.perAnswer
			if c.perAnswer >= 0.05 {
				names = append(names, fmt.Sprintf("%s %.1f", c.name, c.perAnswer))
			}
		}
		t.row(s.name, fmt.Sprintf("%.1f", all), strings.Join(names, ", "))
	}
	t.add(b)
}

// A call is a system call and how often a server makes it.
type call struct {
	name      string
	perAnswer float64
}

// countCalls traces a server for a second and returns its calls, the most frequent first.
func countCalls(b *testing.B, s *server) []call {
	b.Helper()
	var report bytes.Buffer
	strace := exec.Command(lab.Need(b, "strace", "strace"), "-f", "-c", "-p", strconv.Itoa(s.pid))
	strace.Stderr = &report
	if err := strace.Start(); err != nil {
		b.Fatal(err)
	}
	lab.WaitFor(b, 5*time.Second, 10*time.Millisecond, func() error { return traced(s.pid) })
	result := lab.Wrk{URL: s.url, Connections: 16, Duration: time.Second, Reconnect: true}.Run(b)
	strace.Process.Signal(os.Interrupt) // waited for below
	if err := strace.Wait(); err != nil && strace.ProcessState.ExitCode() > 0 {
		b.Fatalf("%v: %s", err, &report)
	}
	return parseCalls(report.String(), result.Requests)
}

// traced returns an error until strace has attached to the process.
func traced(pid int) error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err == nil && strings.Contains(string(status), "\nTracerPid:\t0\n") {
		err = fmt.Errorf("process %d is not traced", pid)
	}
	return err
}

// parseCalls reads the table of strace -c, whose columns are % time, seconds, usecs/call,
// calls, errors (empty in most lines) and syscall.
func parseCalls(report string, answers int) (calls []call) {
	for line := range strings.Lines(report) {
		fields := strings.Fields(line)
		if len(fields) < 5 || fields[len(fields)-1] == "total" {
			continue
		}
		if n, err := strconv.Atoi(fields[3]); err == nil {
			calls = append(calls, call{fields[len(fields)-1], float64(n) / float64(answers)})
		}
	}
	slices.SortFunc(calls, func(x, y call) int { return cmp.Compare(y.perAnswer, x.perAnswer) })
	return calls
}
