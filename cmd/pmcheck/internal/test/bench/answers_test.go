//go:build linux

package bench_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// rates returns the numbers of questions per second. The ancestor can answer about 60.
func rates() []int { return []int{1, 10, 100, 1000} }

// A contender is a program that balancers ask.
type contender struct {
	address string
	window  time.Duration        // for which it is asked at each rate
	cpu     func() time.Duration // used so far, without the master's
	costs   map[int][]float64    // CPU seconds per question, with the master's, by rate, one for each round
}

// ask has balancers ask at one rate after the other.
func (c *contender) ask(b *testing.B, rates ...int) {
	b.Helper()
	for _, rate := range rates {
		before := c.cpu()
		questions, failures := askSteadily(c.address, rate, c.window)
		if failures > 0 {
			b.Fatalf("%s: %d of %d requests failed", c.address, failures, questions)
		}
		c.costs[rate] = append(c.costs[rate], (c.cpu()-before).Seconds()/float64(questions))
	}
}

// charge adds the master's CPU seconds per second to the latest cost at each rate.
func (c *contender) charge(perSecond float64, rates ...int) {
	for _, rate := range rates {
		c.costs[rate][len(c.costs[rate])-1] += perSecond / float64(rate)
	}
}

// cost returns the median at a rate, in milliseconds.
func (c *contender) cost(rate int) float64 { return 1e3 * median(c.costs[rate]) }

// answers measures the CPU time of answers to balancers that ask at their own pace. For each request, the ancestor
// starts three processes and the master makes a TLS handshake. pmcheck spends CPU time on its probes, however many
// balancers ask, and hardly any on a request.
func answers(b *testing.B, site *lab.Site, xinetd *lab.Ancestor) (table string) {
	b.Helper()
	enter := func(address string, window time.Duration, cpu func() time.Duration) *contender {
		return &contender{address: address, window: window, cpu: cpu, costs: map[int][]float64{}}
	}
	address, pid := startBare(b)
	pmcheck := enter(site.Listen, 15*time.Second, func() time.Duration { return cpuTime(b, site.Pid()) })
	ancestor := enter(xinetd.Address(), 6*time.Second, func() time.Duration { return lab.CPUTime(b, xinetd.Pid()) })
	bare := enter(address, 6*time.Second, func() time.Duration { return cpuTime(b, pid) })
	// The JVM compiles the code that answers pmcheck and the ancestor before the first round.
	site.Configure("probe: {interval: 100ms, timeout: 99ms}\n")
	startDaemon(b, site)
	askSteadily(ancestor.address, 50, 20*time.Second)
	site.Stop(syscall.SIGTERM)
	site.Configure("")
	master := site.Server.Pid()
	for range rounds {
		quiet := perSecond(b, master, func() { bare.ask(b, rates()...) }) // nothing asks the master meanwhile
		for _, rate := range rates()[:2] {
			ancestor.charge(perSecond(b, master, func() { ancestor.ask(b, rate) })-quiet, rate)
		}
		startDaemon(b, site)
		time.Sleep(35 * time.Second) // until it does what it does for hours
		pmcheck.charge(perSecond(b, master, func() { pmcheck.ask(b, rates()...) })-quiet, rates()...)
		site.Stop(syscall.SIGTERM)
	}
	table = "| Questions per second | pmcheck (of the ancestor) | ancestor | bare net/http |\n" +
		"| ---: | ---: | ---: | ---: |\n"
	for _, rate := range rates() {
		own, old := pmcheck.cost(rate), ""
		if len(ancestor.costs[rate]) > 0 {
			old = fmt.Sprintf("%.1f ms ", ancestor.cost(rate))
		}
		table += fmt.Sprintf("| %d | %.2g ms (1/%.0f) | %s| %.2g ms |\n",
			rate, own, ancestor.cost(10)/own, old, bare.cost(rate))
	}
	return table
}

// perSecond returns the CPU seconds per second that a process uses during fn.
func perSecond(b *testing.B, pid int, fn func()) float64 {
	b.Helper()
	began, before := time.Now(), cpuTime(b, pid)
	fn()
	return (cpuTime(b, pid) - before).Seconds() / time.Since(began).Seconds()
}

// question sends a request as HAProxy's option httpchk does, over a new connection. It uses
// less CPU time than net/http's client, which would distort the measurement on a machine
// with few CPUs.
func question(address string) error {
	const patience = 10 * time.Second // the ancestor takes 5 s if the master does not answer
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	answer, err := io.ReadAll(c)
	line, _, _ := strings.Cut(string(answer), "\r\n")
	if err == nil && !strings.Contains(line, " 200 ") {
		err = fmt.Errorf("answered %s", line)
	}
	return err
}

// askSteadily sends questions, each when it is due, even if the one before is not answered yet. It returns how many
// there were, and how many were not answered 200.
func askSteadily(address string, perSecond int, window time.Duration) (questions int, failures int64) {
	var failed atomic.Int64
	var asked sync.WaitGroup
	questions = perSecond * int(window/time.Second)
	began := time.Now()
	for i := range questions {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(perSecond))))
		asked.Go(func() {
			if question(address) != nil {
				failed.Add(1)
			}
		})
	}
	asked.Wait()
	time.Sleep(time.Until(began.Add(window)))
	return questions, failed.Load()
}
