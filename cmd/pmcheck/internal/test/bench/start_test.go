//go:build linux

package bench_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/procfs"
)

const mebibyte = 1 << 20

func memory(b *testing.B, pid int) procfs.ProcStatus {
	b.Helper()
	proc, err := procfs.NewProc(pid)
	if err != nil {
		b.Fatal(err)
	}
	status, err := proc.NewStatus()
	if err != nil {
		b.Fatal(err)
	}
	return status
}

func mebibytes(n float64) string { return fmt.Sprintf("%.1f MiB", n/mebibyte) }
