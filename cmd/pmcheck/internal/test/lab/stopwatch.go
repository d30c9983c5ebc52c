//go:build linux

package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Stopwatch measures how long a site's pmcheck takes, not how long the machine
// takes to run it: the time by Between, less the time for which threads of the
// daemon could run and had no CPU. The kernel counts that: see proc_pid_schedstat(5).
type Stopwatch struct {
	pid   int
	delay time.Duration
}

// StartStopwatch starts one for the daemon that runs now, on this machine.
func (s *Site) StartStopwatch() Stopwatch {
	return Stopwatch{pid: s.Pid(), delay: runDelay(s.Pid())}
}

// Took returns how long pmcheck took from one moment to another, both after the
// stopwatch was started and not before now.
func (w Stopwatch) Took(from, to time.Time) time.Duration {
	took := Between(from, to)
	if took < 0 {
		return took
	}
	return max(0, took-(runDelay(w.pid)-w.delay))
}

// runDelay is for how long the threads of a process together have waited for a CPU.
// It is 0 where the kernel does not count that.
func runDelay(pid int) (sum time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is good
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		var ran, waited int64
		if _, err := fmt.Sscan(string(text), &ran, &waited); err == nil {
			sum += time.Duration(waited)
		}
	}
	return sum
}
