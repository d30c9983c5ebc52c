//go:build linux

package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const mebibyte = 1 << 20

// BenchmarkStart measures how long a balancer waits for the first 200 when the daemon
// starts: until it has read its configuration, probed the master with a new handshake, and
// answered.
func BenchmarkStart(b *testing.B) {
	pmcheck, master := lab.Build(b), lab.StartStandIn(b, "master.bench.example")
	var ours, bare []float64
	for range 4 * rounds(b) { // rounds are short, and each depends on the scheduler
		address := lab.Address(b, "127.0.0.1")
		config := serveConfig(b, address, master.Address(), filepath.Join(master.Dir, "puppet.conf"))
		began := time.Now()
		_, stop := start(b, []string{holdsOf(config)}, pmcheck, "serve", "--config", config)
		ours = append(ours, waitForAnswer(b, urlOf(address)).Sub(began).Seconds())
		stop()

		began = time.Now()
		url, _, stop := startBare(b, kindDefault)
		bare = append(bare, waitForAnswer(b, url).Sub(began).Seconds())
		stop()
	}
	t := &table{title: "From the start of the process to the first good answer"}
	t.row("pmcheck serve", milliseconds(median(ours)))
	t.row("net/http, default", milliseconds(median(bare)))
	t.goal(median(ours) <= 0.05, "%s, wanted 50 ms", milliseconds(median(ours)))
	t.add(b)
	b.ReportMetric(median(ours)*1e3, "ms")
}

// BenchmarkMemory measures resident memory. In ten seconds, wrk sends far more requests
// than balancers that ask once a second do in an hour.
func BenchmarkMemory(b *testing.B) {
	pmcheck, master := lab.Build(b), lab.StartStandIn(b, "master.bench.example")
	address := lab.Address(b, "127.0.0.1")
	config := serveConfig(b, address, master.Address(), filepath.Join(master.Dir, "puppet.conf"))
	t := &table{title: "Resident memory, and the size of the program"}
	t.row("", "after 10 s of checks, 10 per second", "after 10 s of wrk", "the most at any time", "program")
	serve := func(program string) func() (string, int, func()) {
		return func() (string, int, func()) {
			pid, stop := start(b, []string{holdsOf(config)}, program, "serve", "--config", config)
			return address, pid, stop
		}
	}
	type candidate struct {
		name, program string
		start         func() (address string, pid int, stop func())
	}
	list := []candidate{
		{"pmcheck", pmcheck, serve(pmcheck)},
		{"net/http, default", "", func() (string, int, func()) {
			url, pid, stop := startBare(b, kindDefault)
			return addressOf(url), pid, stop
		}},
		{"HAProxy " + lab.HAProxyVersion(b), lab.Need(b, "haproxy", "haproxy"), func() (string, int, func()) {
			s := startHAProxy(b)
			return addressOf(s.url), s.pid, func() {}
		}},
	}
	if old := oldProgram(); old != "" {
		list = append(list, candidate{oldName, old, serve(old)})
	}
	for _, c := range list {
		var checked, flooded, peak []float64
		for range min(rounds(b), 3) {
			address, pid, stop := c.start()
			waitForAnswer(b, urlOf(address))
			checkSteadily(b, address, 10, window(10*time.Second))
			checked = append(checked, float64(memory(b, pid).VmRSS))
			lab.Wrk{URL: urlOf(address), Connections: 16, Duration: window(10 * time.Second), Reconnect: true}.Run(b)
			after := memory(b, pid)
			flooded, peak = append(flooded, float64(after.VmRSS)), append(peak, float64(after.VmHWM))
			stop()
		}
		t.row(c.name, mebibytes(median(checked)), mebibytes(median(flooded)), mebibytes(median(peak)),
			programSize(b, c.program))
		if c.program == pmcheck {
			t.goal(median(checked) <= 20*mebibyte, "%s resident, wanted 20 MiB", mebibytes(median(checked)))
			b.ReportMetric(median(checked)/mebibyte, "MiB")
		}
	}
	t.note("the ancestor is xinetd, and for each question bash and curl; HAProxy is its worker, and links libraries")
	t.add(b)
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

// programSize returns the size of a program's file, or "" for a server without its own file.
func programSize(b *testing.B, file string) string {
	b.Helper()
	if file == "" {
		return ""
	}
	info, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	return mebibytes(float64(info.Size()))
}

func mebibytes(n float64) string { return fmt.Sprintf("%.1f MiB", n/mebibyte) }
