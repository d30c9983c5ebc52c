package bench_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// rounds is how often everything is measured. Tables show medians.
const rounds = 3

func TestMain(m *testing.M) {
	lab.Enter()
	os.Exit(m.Run())
}

// BenchmarkCost publishes what answers cost, and how soon a fault is seen. The master has a JVM as shipped.
func BenchmarkCost(b *testing.B) {
	lab.Real(b)
	master := lab.StartPuppetServer(b, lab.PuppetServerOptions{JavaArgs: []string{}})
	master.WaitReady(3 * time.Minute)
	ancestor := lab.StartAncestor(b, master.Address())
	site := lab.NewSite(b, lab.SiteOptions{Server: master})
	tables := answers(b, site, ancestor) + "\n" + faults(b, site, ancestor)
	lab.Publish(b, "bench", tables)
	report(b, tables)
}

// BenchmarkProbing measures what the probe costs a master and pmcheck, and what memory pmcheck has in the end, with the
// defaults and when nothing else asks it.
// Each of three masters has a daemon from its start, so that only that daemon's requests have warmed up its code;
// three others have none. How much of its code a JVM has compiled makes a third of difference.
func BenchmarkProbing(b *testing.B) {
	lab.Real(b)
	const masters, window = 3, 5 * time.Minute // a daemon makes a handshake every 5 minutes
	var probed, alone, daemons []int           // process ids
	for range masters {
		site := lab.NewSite(b, lab.SiteOptions{Server: startCold(b)})
		startDaemon(b, site)
		probed, daemons = append(probed, site.Server.Pid()), append(daemons, site.Pid())
		alone = append(alone, startCold(b).Pid())
	}
	used := func() (list [3]time.Duration) { // of probed, alone and daemons
		for i, pids := range [][]int{probed, alone, daemons} {
			for _, pid := range pids {
				list[i] += cpuTime(b, pid) / masters
			}
		}
		return list
	}
	began, text := time.Now(), ""
	for _, age := range []time.Duration{3 * time.Minute, 10 * time.Minute, 30 * time.Minute} {
		time.Sleep(time.Until(began.Add(age)))
		before, from := used(), time.Now()
		time.Sleep(window)
		after, took := used(), time.Since(from).Seconds()
		each := func(i int) float64 { return (after[i] - before[i]).Seconds() * 1e3 / took }
		text += fmt.Sprintf("CPU per second, the mean of three, %v after their start: %.2f ms of Puppet Server for "+
			"the probe, %.2f ms without it, and %.2f ms of pmcheck\n", age, each(0)-each(1), each(1), each(2))
	}
	memory := regexp.MustCompile(`(?m)^(VmRSS|RssAnon):.*$`)
	for _, pid := range daemons {
		text += fmt.Sprintln(memory.FindAllString(lab.Read(b, fmt.Sprintf("/proc/%d/status", pid)), -1))
	}
	report(b, text)
}

// startCold starts a Puppet Server with a JVM as shipped.
func startCold(b *testing.B) *lab.PuppetServer {
	b.Helper()
	s := lab.StartPuppetServer(b, lab.PuppetServerOptions{JavaArgs: []string{}, MaxActiveInstances: 2, HeapMB: 1024})
	s.WaitReady(5 * time.Minute)
	return s
}

// report prints results. go test truncates a benchmark's log.
func report(b *testing.B, text string) {
	b.ReportMetric(0, "ns/op") // hides the time of the whole benchmark, which means nothing
	fmt.Printf("\n%s\n", text)
}

func readmeLines(b *testing.B) string {
	b.Helper()
	_, block, _ := strings.Cut(lab.ReadFile(b, "README.md"), "\nbackend puppet\n")
	block, _, found := strings.Cut(block, "    server ")
	if !found {
		b.Fatal("README.md: no backend for HAProxy")
	}
	return block
}

func startDaemon(b *testing.B, site *lab.Site) {
	b.Helper()
	site.Start()
	site.WaitServing(30 * time.Second)
}

// startReturn starts an HAProxy that answers by itself, and returns the process id of its worker.
func startReturn(b *testing.B) (address string, pid int) {
	b.Helper()
	address = lab.Address(b, "127.0.0.1")
	h := lab.StartHAProxy(b, fmt.Sprintf(`defaults
    mode http
    timeout client 10s
    timeout connect 1s
    timeout server 1s
frontend answers
    bind %s
    http-request return status 200 content-type "text/plain; charset=utf-8" string %q
`, address, lab.ServingBody))
	worker := regexp.MustCompile(`(?m)^Pid: (\d+)$`).FindStringSubmatch(h.Admin("show info"))
	pid, err := strconv.Atoi(worker[1])
	lab.Must(b, err)
	return address, pid
}

// cpuTime returns the CPU time of a process without its children. Its resolution is 1 ns,
// compared with 10 ms in /proc. The clock id of another process is computed from its
// process id: see clock_getcpuclockid(3).
func cpuTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	const schedulerClock = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &t); err != nil {
		b.Fatalf("CPU time of process %d: %v", pid, err)
	}
	return time.Duration(t.Nano())
}

func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }
