//go:build linux

package lab

import (
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// clockTick is the unit of CPU times in /proc/PID/stat on every Linux architecture.
const clockTick = 10 * time.Millisecond

// CPUTime returns the CPU time (user and system) that the process has used since it
// started, including its children that have ended and that it has waited for. The
// resolution is 10 ms, so measurements should last seconds.
func CPUTime(tb testing.TB, pid int) time.Duration {
	tb.Helper()
	proc, err := procfs.NewProc(pid)
	if err != nil {
		tb.Fatal(err)
	}
	stat, err := proc.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	own, children := stat.UTime+stat.STime, stat.CUTime+stat.CSTime
	return time.Duration(own)*clockTick + time.Duration(children)*clockTick
}
