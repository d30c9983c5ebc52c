package bench_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/lab"
)

// costs are CPU seconds, by round. The master's are those above what it uses
// when nobody asks it anything.
type costs struct {
	quiet         []float64 // of the master alone, per second
	probingMaster []float64 // per second
	probingAgent  []float64 // per second
	answer        []float64 // per question; the master has no part in it
	ancestorHost  []float64 // per question: xinetd, bash, curl
	ancestorJVM   []float64 // per question
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
	ancestorURL := "http://" + ancestor.Address() + "/"
	lab.Wrk{URL: ancestorURL, Connections: 4, Duration: 20 * time.Second, Reconnect: true}.Run(b) // lets the JVM compile

	var c costs
	for range rounds(b) {
		quiet := perSecond(b, master.Pid(), func() { time.Sleep(20 * time.Second) })
		c.quiet = append(c.quiet, quiet)
		c.measurePmcheck(b, master, quiet)
		c.measureAncestor(b, master, ancestor, ancestorURL, quiet)
	}
	c.compare(b)
}

// measurePmcheck looks at a window that has its share of handshakes, which come
// every 30 s, and then at one with questions.
func (c *costs) measurePmcheck(b *testing.B, master *lab.PuppetServer, quiet float64) {
	b.Helper()
	address := lab.FreeAddress(b, "127.0.0.1")
	url := "http://" + address + "/"
	config := serveConfig(b, address, master.Address(), master.PuppetConf())
	pid, stop := start(b, nil, lab.Build(b), "serve", "--config", config)
	defer stop()
	awaitAnswer(b, url)

	var probing float64
	jvm := perSecond(b, master.Pid(), func() {
		probing = perSecond(b, pid, func() { time.Sleep(30 * time.Second) })
	})
	c.probingMaster = append(c.probingMaster, jvm-quiet)
	c.probingAgent = append(c.probingAgent, probing)

	const rate, window = 100, 10 * time.Second
	busy := perSecond(b, pid, func() { askSteadily(b, url, rate, window) })
	c.answer = append(c.answer, (busy-probing)/rate)
}

func (c *costs) measureAncestor(b *testing.B, master *lab.PuppetServer, a *lab.Ancestor, url string, quiet float64) {
	b.Helper()
	const rate, window = 10, 10 * time.Second
	before := lab.CPUTime(b, a.Pid())
	jvm := perSecond(b, master.Pid(), func() { askSteadily(b, url, rate, window) })
	c.ancestorJVM = append(c.ancestorJVM, (jvm-quiet)/rate)
	host := lab.CPUTime(b, a.Pid()) - before
	c.ancestorHost = append(c.ancestorHost, host.Seconds()/window.Seconds()/rate)
}

// perSecond returns the CPU seconds per second that a process uses during fn.
func perSecond(b *testing.B, pid int, fn func()) float64 {
	b.Helper()
	began, before := time.Now(), cpuTime(b, pid)
	fn()
	return (cpuTime(b, pid) - before).Seconds() / time.Since(began).Seconds()
}

// askSteadily asks so many times per second, one after another.
func askSteadily(b *testing.B, url string, rate int, window time.Duration) {
	b.Helper()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for end := time.Now().Add(window); time.Now().Before(end); {
		<-tick.C
		if err := ask(url); err != nil {
			b.Fatal(err)
		}
	}
}

func (c *costs) compare(b *testing.B) {
	b.Helper()
	t := table{title: "CPU time per question of a balancer, agent and master together"}
	probing := median(sums(c.probingMaster, c.probingAgent))
	t.row("", "master", "agent", "together")
	t.row("master alone, per second", milliseconds(median(c.quiet)), "", "not counted below")
	t.row("pmcheck's probing, per second", milliseconds(median(c.probingMaster)), milliseconds(median(c.probingAgent)), milliseconds(probing))
	t.row("pmcheck, per question", "0", milliseconds(median(c.answer)), milliseconds(median(c.answer)))
	t.row("ancestor, per question", milliseconds(median(c.ancestorJVM)), milliseconds(median(c.ancestorHost)),
		milliseconds(median(sums(c.ancestorJVM, c.ancestorHost))))
	t.row()
	t.row("questions per second", "pmcheck", "ancestor", "one to")
	for _, n := range []float64{1, 10, 50} {
		times := c.times(n)
		t.row(fmt.Sprint(n), milliseconds(probing/n+median(c.answer)),
			milliseconds(median(sums(c.ancestorJVM, c.ancestorHost))), fmt.Sprintf("%.0f", times))
		if n == 10 {
			t.goal(times >= 200, "at 10 per second the ancestor costs %.0f times as much, wanted 200", times)
		}
		b.ReportMetric(times, fmt.Sprintf("times-at-%.0f/s", n))
	}
	t.add(b)
}

// times is how many times as much the ancestor costs, at n questions per second.
func (c *costs) times(n float64) float64 {
	ours := make([]float64, len(c.answer))
	for i := range ours {
		ours[i] = (c.probingMaster[i]+c.probingAgent[i])/n + c.answer[i]
	}
	return ratio(sums(c.ancestorJVM, c.ancestorHost), ours)
}

func sums(a, b []float64) []float64 {
	s := make([]float64, len(a))
	for i := range s {
		s[i] = a[i] + b[i]
	}
	return s
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.3f ms", seconds*1e3) }
