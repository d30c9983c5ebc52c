package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/lab"
)

const mebibyte = 1 << 20

// BenchmarkStart asks how long a balancer waits for its first good answer when
// the daemon starts: the configuration is read, the master probed with a new
// handshake, then the answer given.
func BenchmarkStart(b *testing.B) {
	pmcheck, master := lab.Build(b), standIn(b)
	var ours, bare []float64
	for range 4 * rounds(b) { // short, and each hangs on the scheduler
		address := lab.FreeAddress(b, "127.0.0.1")
		config := serveConfig(b, address, master.Address(), filepath.Join(master.Dir, "puppet.conf"))
		began := time.Now()
		_, stop := start(b, nil, pmcheck, "serve", "--config", config)
		ours = append(ours, awaitAnswer(b, urlOf(address)).Sub(began).Seconds())
		stop()

		began = time.Now()
		url, _, stop := startBare(b, kindDefault)
		bare = append(bare, awaitAnswer(b, url).Sub(began).Seconds())
		stop()
	}
	t := table{title: "From the start of the process to the first good answer"}
	t.row("pmcheck serve", milliseconds(median(ours)))
	t.row("net/http, default", milliseconds(median(bare)))
	t.goal(median(ours) <= 0.05, "%s, wanted 50 ms", milliseconds(median(ours)))
	t.add(b)
	b.ReportMetric(median(ours)*1e3, "ms")
}

// BenchmarkMemory asks what stays resident. An hour of checks at one per second
// is nothing against what wrk asks in ten seconds.
func BenchmarkMemory(b *testing.B) {
	pmcheck, master := lab.Build(b), standIn(b)
	var checked, flooded, peak []float64
	for range rounds(b) {
		address := lab.FreeAddress(b, "127.0.0.1")
		url := urlOf(address)
		config := serveConfig(b, address, master.Address(), filepath.Join(master.Dir, "puppet.conf"))
		pid, stop := start(b, nil, pmcheck, "serve", "--config", config)
		awaitAnswer(b, url)
		checkSteadily(b, address, 10, window(10*time.Second))
		checked = append(checked, float64(memory(b, pid).VmRSS))
		lab.Wrk{URL: url, Connections: 16, Duration: window(10 * time.Second), Reconnect: true}.Run(b)
		after := memory(b, pid)
		flooded, peak = append(flooded, float64(after.VmRSS)), append(peak, float64(after.VmHWM))
		stop()
	}
	t := table{title: "Memory and size"}
	t.row("resident after 10 s of checks, 10 per second", mebibytes(median(checked)))
	t.row("resident after 10 s of wrk", mebibytes(median(flooded)))
	t.row("the most at any time", mebibytes(median(peak)))
	t.row("binary", mebibytes(size(b, pmcheck)))
	t.goal(median(checked) <= 20*mebibyte, "%s resident, wanted 20 MiB", mebibytes(median(checked)))
	t.add(b)
	b.ReportMetric(median(checked)/mebibyte, "MiB")
}

// standIn starts a master in this process, so that pmcheck does not pay for
// its certificates.
func standIn(b *testing.B) *checktest.Master {
	b.Helper()
	m, err := checktest.NewMaster(b.TempDir(), "master.bench.example", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	return m
}

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

func size(b *testing.B, file string) float64 {
	b.Helper()
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	return float64(info.Size())
}

func mebibytes(n float64) string { return fmt.Sprintf("%.1f MiB", n/mebibyte) }
