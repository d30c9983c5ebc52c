//go:build linux

package lab

import (
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// clockTick is the unit of /proc/PID/stat on every Linux port.
const clockTick = 10 * time.Millisecond

// CPUTime returns the CPU time, user and system, that the process and those of
// its children it has waited for have used since they started. It counts in
// steps of 10 ms: measure over seconds.
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
