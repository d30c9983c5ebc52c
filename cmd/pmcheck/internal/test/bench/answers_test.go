package bench_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// flood stands for the rate of 16 clients that send a request as soon as the one before is answered.
const flood = 0

// rates returns the numbers of questions per second. The ancestor can answer about 60.
func rates() []int { return []int{1, 10, 100, 1000, flood} }

// A contender is a program that balancers ask.
type contender struct {
	name    string
	address string
	window  time.Duration        // for which it is asked at each rate
	cpu     func() time.Duration // used so far, without the master's
	runs    map[int][]run        // by rate, one for each round
}

// A run is what came of one window.
type run struct {
	rate float64 // requests per second
	cost float64 // CPU seconds per request, of the contender and what the master is charged with
}

// ask has balancers ask at one rate after the other.
func (c *contender) ask(b *testing.B, rates ...int) {
	b.Helper()
	for _, rate := range rates {
		before, began := c.cpu(), time.Now()
		asked := c.askConstantly
		if rate != flood {
			asked = func() (int64, int64) { return c.askSteadily(rate) }
		}
		good, bad := asked()
		if bad > 0 || good == 0 {
			b.Fatalf("%s: %d of %d requests failed", c.name, bad, good+bad)
		}
		c.runs[rate] = append(c.runs[rate], run{
			rate: float64(good) / time.Since(began).Seconds(),
			cost: (c.cpu() - before).Seconds() / float64(good),
		})
	}
}

// charge adds the master's CPU seconds per second to the latest run at each rate.
func (c *contender) charge(perSecond float64, rates ...int) {
	for _, rate := range rates {
		last := &c.runs[rate][len(c.runs[rate])-1]
		last.cost += perSecond / last.rate
	}
}

// cost returns the median at a rate, in milliseconds.
func (c *contender) cost(rate int) float64 {
	var list []float64
	for _, r := range c.runs[rate] {
		list = append(list, r.cost*1e3)
	}
	return median(list)
}

// answers measures the CPU time of answers to balancers that ask at their own pace. For each request, the ancestor
// starts three processes and the master makes a TLS handshake. pmcheck spends CPU time on its probes, however many
// balancers ask, and hardly any on a request.
func answers(b *testing.B, site *lab.Site, xinetd *lab.Ancestor) (table string) {
	b.Helper()
	enter := func(name, address string, window time.Duration, cpu func() time.Duration) *contender {
		return &contender{name: name, address: address, window: window, cpu: cpu, runs: map[int][]run{}}
	}
	returnAddress, worker := startReturn(b)
	const short = 6 * time.Second
	pmcheck := enter("pmcheck", site.Listen, 15*time.Second, func() time.Duration { return cpuTime(b, site.Pid()) })
	ancestor := enter("ancestor", xinetd.Address(), short, func() time.Duration { return lab.CPUTime(b, xinetd.Pid()) })
	haproxy := enter("HAProxy", returnAddress, short, func() time.Duration { return cpuTime(b, worker) })
	warmUp(b, site, ancestor)
	master := site.Server.Pid()
	for range rounds {
		quiet := perSecond(b, master, func() { haproxy.ask(b, rates()...) }) // nothing asks the master meanwhile
		for _, rate := range rates()[:2] {
			ancestor.charge(perSecond(b, master, func() { ancestor.ask(b, rate) })-quiet, rate)
		}
		startDaemon(b, site)
		time.Sleep(35 * time.Second) // until it does what it does for hours
		pmcheck.charge(perSecond(b, master, func() { pmcheck.ask(b, rates()...) })-quiet, rates()...)
		site.Stop()
	}
	return compare(pmcheck, ancestor, haproxy)
}

// warmUp makes the JVM compile the code that answers pmcheck and the ancestor. Otherwise
// the first round would include that cost.
func warmUp(b *testing.B, site *lab.Site, ancestor *contender) {
	b.Helper()
	site.Configure("probe: {interval: 100ms, timeout: 99ms}\n")
	startDaemon(b, site)
	for range 7 {
		ancestor.askConstantly()
	}
	site.Stop()
	site.Configure("")
}

// perSecond returns the CPU seconds per second that a process uses during fn.
func perSecond(b *testing.B, pid int, fn func()) float64 {
	b.Helper()
	began, before := time.Now(), cpuTime(b, pid)
	fn()
	return (cpuTime(b, pid) - before).Seconds() / time.Since(began).Seconds()
}

// compare returns the table: CPU time per question, and for pmcheck what part it is of the ancestor's at 10 a second,
// and how many times HAProxy's.
func compare(pmcheck, ancestor, haproxy *contender) string {
	table := "| Questions per second | pmcheck (of the ancestor, of HAProxy) | ancestor | HAProxy's own `return` |\n" +
		"| ---: | ---: | ---: | ---: |\n"
	for _, rate := range rates() {
		name, own, old := fmt.Sprint(rate), pmcheck.cost(rate), ""
		if rate == flood {
			name = "as many as there is room for"
		}
		if len(ancestor.runs[rate]) > 0 {
			old = fmt.Sprintf("%.1f ms ", ancestor.cost(rate))
		}
		table += fmt.Sprintf("| %s | %.2g ms (1/%.0f, %.2g) | %s| %.2g ms |\n",
			name, own, ancestor.cost(10)/own, own/haproxy.cost(rate), old, haproxy.cost(rate))
	}
	return table
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

// askSteadily sends so many requests a second, each when it is due, even if the one before is not answered yet. It
// returns how many answers were 200, and how many were not or did not come.
func (c *contender) askSteadily(rate int) (good, bad int64) {
	var failures atomic.Int64
	var asked sync.WaitGroup
	requests := rate * int(c.window/time.Second)
	began := time.Now()
	for i := range requests {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		asked.Go(func() {
			if question(c.address) != nil {
				failures.Add(1)
			}
		})
	}
	asked.Wait()
	time.Sleep(time.Until(began.Add(c.window)))
	return int64(requests) - failures.Load(), failures.Load()
}

// askConstantly is askSteadily at the rate flood.
func (c *contender) askConstantly() (good, bad int64) {
	var answers, failures atomic.Int64
	var asking sync.WaitGroup
	began := time.Now()
	for range 16 {
		asking.Go(func() {
			for time.Since(began) < 3*time.Second {
				if question(c.address) == nil {
					answers.Add(1)
				} else {
					failures.Add(1)
				}
			}
		})
	}
	asking.Wait()
	return answers.Load(), failures.Load()
}
