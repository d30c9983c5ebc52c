//go:build linux

package bench_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// How long each contender is measured at each rate. A daemon makes a handshake every 5
// minutes: BenchmarkLooking has their cost.
const (
	pmcheckWindow = 15 * time.Second
	otherWindow   = 6 * time.Second
	settled       = 35 * time.Second
)

// A contender is a program that balancers ask.
type contender struct {
	name    string
	address string
	rates   []int                // numbers of balancers that it can serve
	cpu     func() time.Duration // CPU time used so far, without the master's
	runs    map[int][]run        // by rate, one for each round
}

// A run holds the results of one window.
type run struct {
	p99         float64 // seconds
	rate        float64 // requests per second
	cpu, master float64 // CPU seconds per request, of the contender and of the master
}

// allRates returns the numbers of balancers, each of which asks once a second.
func allRates() []int { return []int{1, 10, 100, 1000} }

// rounds is how often everything is measured.
const rounds = 3

// flood stands for the rate of clients that send a request as soon as the one before is
// answered.
const flood = 0

// benchmarkBalancers measures the latency and CPU time of answers to balancers that ask at
// their own pace. For each request, the ancestor starts three processes and the master
// makes a TLS handshake. pmcheck spends CPU time on its probes, however many balancers ask,
// and hardly any on a request.
func benchmarkBalancers(b *testing.B, master *lab.PuppetServer) {
	others := startOthers(b)
	xinetd := lab.StartAncestor(b, master.Address())
	ancestor := newContender(b, "ancestor", xinetd.Address(), 0)
	ancestor.rates = slices.DeleteFunc(allRates(), func(rate int) bool { return rate > 10 }) // it can do about 60/s
	ancestor.cpu = func() time.Duration { return lab.CPUTime(b, xinetd.Pid()) }
	pmcheck := newContender(b, "pmcheck", lab.Address(b, "127.0.0.1"), 0)
	config := serveConfig(b, pmcheck.address, master.Address(), master.PuppetConf())
	warmUp(b, config, ancestor.address)

	var probing []float64
	for range rounds {
		// Nothing asks the master while the others are measured.
		quiet := perSecond(b, master.Pid(), func() {
			for _, c := range others {
				c.measure(b, otherWindow, c.rates...)
				c.measureFlood(b)
			}
		})
		for _, rate := range ancestor.rates {
			used := perSecond(b, master.Pid(), func() { ancestor.measure(b, otherWindow, rate) })
			ancestor.charge(rate, used-quiet)
		}
		pid, stop := startDaemon(b, nil, config)
		pmcheck.cpu = func() time.Duration { return cpuTime(b, pid) }
		waitForAnswer(b, urlOf(pmcheck.address))
		sleep(b, settled)
		used := perSecond(b, master.Pid(), func() { pmcheck.measure(b, pmcheckWindow, pmcheck.rates...) })
		pmcheck.measureFlood(b) // outside perSecond, since a flood causes no further probes
		for rate := range pmcheck.runs {
			pmcheck.charge(rate, used-quiet)
		}
		probing = append(probing, used-quiet)
		stop()
	}
	compareCost(b, append([]*contender{pmcheck}, append(others, ancestor)...), probing)
}

// warmUp makes the JVM compile the code that answers pmcheck and the ancestor. Otherwise
// the first round would include that cost.
func warmUp(b *testing.B, config, ancestor string) {
	b.Helper()
	frequent := []string{
		"PMCHECK_PROBE_INTERVAL=100ms", "PMCHECK_PROBE_TIMEOUT=99ms", "PMCHECK_PROBE_FALL=100",
	}
	_, stop := startDaemon(b, frequent, config)
	defer stop()
	checkConstantly(ancestor, 4, 20*time.Second)
}

// startOthers starts the contenders that ask no master.
func startOthers(b *testing.B) []*contender {
	b.Helper()
	address, pid := startBare(b)
	others := []*contender{newContender(b, "bare net/http", address, pid), startHAProxy(b)}
	for _, c := range others {
		waitForAnswer(b, urlOf(c.address))
	}
	return others
}

func startHAProxy(b *testing.B) *contender {
	b.Helper()
	address := lab.Address(b, "127.0.0.1")
	h := lab.StartHAProxy(b, fmt.Sprintf(`defaults
    mode http
    timeout client 10s
    timeout connect 1s
    timeout server 1s
frontend answers
    bind %s
    http-request return status 200 content-type "text/plain; charset=utf-8" string %q
`, address, answer))
	return newContender(b, "HAProxy", address, workerPid(b, h))
}

// workerPid returns the process id of HAProxy's worker, a child of the process that was
// started.
func workerPid(b *testing.B, h *lab.HAProxy) int {
	b.Helper()
	for line := range strings.Lines(h.Admin("show info")) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "Pid: "); found {
			pid, err := strconv.Atoi(text)
			if err != nil {
				b.Fatal(err)
			}
			return pid
		}
	}
	b.Fatal("no Pid in HAProxy's answer to show info")
	return 0
}

func newContender(b *testing.B, name, address string, pid int) *contender {
	return &contender{
		name: name, address: address, rates: allRates(), runs: map[int][]run{},
		cpu: func() time.Duration { return cpuTime(b, pid) },
	}
}

// measure makes balancers ask a contender, at one rate after the other.
func (c *contender) measure(b *testing.B, long time.Duration, rates ...int) {
	b.Helper()
	for _, rate := range rates {
		before := c.cpu()
		took := checkSteadily(b, c.address, rate, long)
		c.runs[rate] = append(c.runs[rate], run{
			p99:  quantile(took, 990),
			rate: float64(rate),
			cpu:  (c.cpu() - before).Seconds() / float64(len(took)),
		})
	}
}

func (c *contender) measureFlood(b *testing.B) {
	b.Helper()
	before := c.cpu()
	began := time.Now()
	answers, failures := checkConstantly(c.address, 16, 3*time.Second)
	if failures > 0 || answers == 0 {
		b.Fatalf("%s: %d of %d requests failed", c.name, failures, answers+failures)
	}
	c.runs[flood] = append(c.runs[flood], run{
		rate: float64(answers) / time.Since(began).Seconds(),
		cpu:  (c.cpu() - before).Seconds() / float64(answers),
	})
}

// charge records the master's CPU time per second for the latest run at a rate.
func (c *contender) charge(rate int, perSecond float64) {
	runs := c.runs[rate]
	last := &runs[len(runs)-1]
	last.master = perSecond / last.rate
}

// perSecond returns the CPU seconds per second that a process uses during fn.
func perSecond(b *testing.B, pid int, fn func()) float64 {
	b.Helper()
	began, before := time.Now(), cpuTime(b, pid)
	fn()
	return (cpuTime(b, pid) - before).Seconds() / time.Since(began).Seconds()
}

// at returns one figure from each round at a rate.
func (c *contender) at(rate int, figure func(run) float64) []float64 {
	var list []float64
	for _, r := range c.runs[rate] {
		list = append(list, figure(r))
	}
	return list
}

func (r run) asked() float64    { return r.rate }
func (r run) tail() float64     { return r.p99 }
func (r run) own() float64      { return r.cpu }
func (r run) ofMaster() float64 { return r.master }
func (r run) together() float64 { return r.cpu + r.master }

func compareCost(b *testing.B, all []*contender, probing []float64) {
	b.Helper()
	t := &table{title: "CPU time of a check beyond what the master uses by itself, and its p99 from when it was due"}
	t.row("questions/s", "", "master", "daemon or scripts", "together", "of the ancestor", "p99")
	ancestor := all[len(all)-1]
	most := ancestor.at(ancestor.rates[len(ancestor.rates)-1], run.together)
	for _, rate := range append(allRates(), flood) {
		for _, c := range all {
			if len(c.runs[rate]) == 0 {
				continue
			}
			times := ratio(most, c.at(rate, run.together))
			asked, tail := median(c.at(rate, run.asked)), ""
			if rate != flood {
				tail = milliseconds(median(c.at(rate, run.tail)))
			}
			t.row(fmt.Sprintf("%.0f", asked), c.name, milliseconds(median(c.at(rate, run.ofMaster))),
				milliseconds(median(c.at(rate, run.own))),
				milliseconds(median(c.at(rate, run.together))), fmt.Sprintf("1/%.0f", times), tail)
		}
	}
	t.note("probing costs the master %s per second", milliseconds(median(probing)))
	t.add(b)
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3f ms", seconds*1e3) }
