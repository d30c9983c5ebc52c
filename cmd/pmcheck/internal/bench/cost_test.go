package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/lab"
)

// The windows in which CPU time is measured. pmcheck's are 60 s together, for
// their share of handshakes, which come every 30 s.
const (
	quietWindow    = 20 * time.Second
	pmcheckWindow  = 15 * time.Second
	ancestorWindow = 10 * time.Second
)

// ancestorRate is well below what the ancestor can do.
const ancestorRate = 10

// pmcheckRates are questions per second, of one balancer or of many.
func pmcheckRates() []int { return []int{1, 10, 100, 1000} }

// costs are CPU seconds, by round. Those of the master are above what it uses
// while nobody asks it anything.
type costs struct {
	quiet        []float64         // of the master, per second
	probing      []float64         // of the master for pmcheck, per second
	agent        map[int][]float64 // of pmcheck per question, by rate
	ancestorJVM  []float64         // per question
	ancestorHost []float64         // per question: xinetd, bash, curl
}

// BenchmarkCPUPerQuestion asks what a balancer's question costs the host, agent
// and master together. To the ancestor each question is a process and a TLS
// handshake; pmcheck pays for its probing, whoever asks, and then hardly
// anything for a question.
func BenchmarkCPUPerQuestion(b *testing.B) {
	lab.Real(b)
	master := lab.StartPuppetServer(b, lab.PuppetServerOptions{JavaArgs: []string{}}) // a JVM as shipped
	master.WaitReady(3 * time.Minute)
	ancestor := lab.StartAncestor(b, master.Address())
	lab.Wrk{URL: urlOf(ancestor.Address()), Connections: 4, Duration: 20 * time.Second, Reconnect: true}.Run(b) // lets the JVM compile

	c := costs{agent: map[int][]float64{}}
	for range rounds(b) {
		quiet := perSecond(b, master.Pid(), func() { time.Sleep(quietWindow) })
		c.quiet = append(c.quiet, quiet)
		c.measurePmcheck(b, master, quiet)
		c.measureAncestor(b, master, ancestor, quiet)
	}
	c.compare(b)
}

func (c *costs) measurePmcheck(b *testing.B, master *lab.PuppetServer, quiet float64) {
	b.Helper()
	address := lab.FreeAddress(b, "127.0.0.1")
	config := serveConfig(b, address, master.Address(), master.PuppetConf())
	pid, stop := start(b, nil, lab.Build(b), "serve", "--config", config)
	defer stop()
	awaitAnswer(b, urlOf(address))
	jvm := perSecond(b, master.Pid(), func() {
		for _, rate := range pmcheckRates() {
			before := cpuTime(b, pid)
			n := askSteadily(b, urlOf(address), rate, pmcheckWindow)
			c.agent[rate] = append(c.agent[rate], (cpuTime(b, pid)-before).Seconds()/float64(n))
		}
	})
	c.probing = append(c.probing, jvm-quiet)
}

func (c *costs) measureAncestor(b *testing.B, master *lab.PuppetServer, a *lab.Ancestor, quiet float64) {
	b.Helper()
	before := lab.CPUTime(b, a.Pid())
	var n float64
	jvm := perSecond(b, master.Pid(), func() {
		n = float64(askSteadily(b, urlOf(a.Address()), ancestorRate, ancestorWindow))
	})
	c.ancestorJVM = append(c.ancestorJVM, (jvm-quiet)*ancestorWindow.Seconds()/n)
	c.ancestorHost = append(c.ancestorHost, (lab.CPUTime(b, a.Pid())-before).Seconds()/n)
}

// perSecond returns the CPU seconds per second that a process uses during fn.
func perSecond(b *testing.B, pid int, fn func()) float64 {
	b.Helper()
	began, before := time.Now(), cpuTime(b, pid)
	fn()
	return (cpuTime(b, pid) - before).Seconds() / time.Since(began).Seconds()
}

// askSteadily asks so many times per second, one after another, and returns how
// often it asked. Fewer than wanted is no harm: who is too slow is asked less.
func askSteadily(b *testing.B, url string, rate int, window time.Duration) (n int) {
	b.Helper()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for end := time.After(window); ; n++ {
		select {
		case <-end:
			return n
		case <-tick.C:
			if err := ask(url); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func (c *costs) compare(b *testing.B) {
	b.Helper()
	t := table{title: "CPU time per question of a balancer, beyond what the master uses by itself"}
	t.row("", "questions/s", "master", "agent or scripts", "together", "of the ancestor")
	ancestor := sums(c.ancestorJVM, c.ancestorHost)
	t.row("ancestor", "any", milliseconds(median(c.ancestorJVM)), milliseconds(median(c.ancestorHost)), milliseconds(median(ancestor)), "")
	for _, rate := range pmcheckRates() {
		jvm := perQuestion(c.probing, rate)
		together := sums(jvm, c.agent[rate])
		times := ratio(ancestor, together)
		t.row("pmcheck", fmt.Sprint(rate), milliseconds(median(jvm)), milliseconds(median(c.agent[rate])),
			milliseconds(median(together)), fmt.Sprintf("1/%.0f", times))
		b.ReportMetric(times, fmt.Sprintf("times-at-%d/s", rate))
		if rate == ancestorRate {
			t.goal(times >= 200, "1/%.0f of the ancestor at %d questions per second, wanted 1/200", times, rate)
		}
	}
	t.note("probing costs the master %s per second; by itself it uses %s",
		milliseconds(median(c.probing)), milliseconds(median(c.quiet)))
	t.add(b)
}

func perQuestion(perSecond []float64, rate int) []float64 {
	costs := make([]float64, len(perSecond))
	for i := range costs {
		costs[i] = perSecond[i] / float64(rate)
	}
	return costs
}

func sums(a, b []float64) []float64 {
	s := make([]float64, len(a))
	for i := range s {
		s[i] = a[i] + b[i]
	}
	return s
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3f ms", seconds*1e3) }
