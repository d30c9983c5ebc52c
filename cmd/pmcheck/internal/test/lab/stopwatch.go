//go:build linux

package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Stopwatch measures how long a site's pmcheck takes, without delays of the machine: the
// time by Between, less the time for which threads of the daemon were runnable but had no
// CPU. The kernel counts the latter: see proc_pid_schedstat(5).
type Stopwatch struct {
	pid   int
	delay time.Duration
}

// StartStopwatch starts a Stopwatch for the current process of the daemon, on this machine.
func (s *Site) StartStopwatch() Stopwatch {
	return Stopwatch{pid: s.Pid(), delay: runDelay(s.Pid())}
}

// Took returns how long pmcheck took from one moment to another. Both must be after the
// start of the stopwatch, and not in the future.
func (w Stopwatch) Took(from, to time.Time) time.Duration {
	took := Between(from, to)
	if took < 0 {
		return took
	}
	return max(0, took-(runDelay(w.pid)-w.delay))
}

// runDelay returns how long the threads of a process, taken together, have waited for a
// CPU. It returns 0 if the kernel does not count that.
func runDelay(pid int) (sum time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is valid
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
