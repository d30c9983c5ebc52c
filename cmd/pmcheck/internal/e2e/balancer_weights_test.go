package e2e_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/agent"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/lab"
)

// crowd is how many agents run without a pause.
const crowd = 20

// A weighed is one way to share agents among masters of unequal size.
type weighed struct {
	name    string
	balance string
	words   string // of the server lines
	address string
}

// A load is what agents and masters saw of one way, in one round.
type load struct {
	p50, p95 time.Duration
	runs     int
	waiting  float64 // requests, for both masters together
	weights  string  // in the end
}

// testWeights lets the same crowd loose on both masters in three ways, in turns.
// What is best is for the reader of the table to say; what is asserted is that
// weights tell a small master from a large one.
func testWeights(t *testing.T, small, large *lab.PuppetServer) {
	rounds, each := 2, 6*time.Second
	if longRuns {
		rounds, each = 5, 30*time.Second
	}
	for _, s := range []*lab.PuppetServer{small, large} {
		s.SetSitePP(`notice(generate("/bin/sleep", "0.5"))`)
	}
	ways := []*weighed{
		{name: "leastconn", balance: "leastconn"},
		{name: "leastconn + weights", balance: "leastconn", words: "agent"},
		{name: "roundrobin + weights", balance: "roundrobin", words: "agent"},
	}
	h, rigs := weigh(t, small, large, ways)
	crowdAgent := newAgent(t, "agent.lab.example", small, large)
	table := map[string][]load{}
	for round := range rounds {
		for i := range ways {
			w := ways[(round+i)%len(ways)] // what comes first meets colder masters
			table[w.name] = append(table[w.name], w.run(t, crowdAgent, h, rigs, each))
		}
	}
	for _, w := range ways {
		for round, l := range table[w.name] {
			measured(t, fmt.Sprintf("round %d, %-20s", round+1, w.name), l)
		}
		measured(t, fmt.Sprintf("median,  %-20s", w.name), median(table[w.name]))
	}
}

func (l load) String() string {
	return fmt.Sprintf("p50 %.2f s  p95 %.2f s  %d runs  %.1f waiting  weights %s", l.p50.Seconds(), l.p95.Seconds(), l.runs, l.waiting, l.weights)
}

func (w *weighed) backend() string { return w.balance + w.words }

// weigh starts a pmcheck for each master, and one HAProxy that fronts both in
// each way.
func weigh(t *testing.T, small, large *lab.PuppetServer, ways []*weighed) (*lab.HAProxy, []*rig) {
	t.Helper()
	first, firstPort := serveAgent(t, puppetConf(small.PuppetConf())+"jruby: {interval: 1s}\n")
	second, secondPort := serveAgent(t, puppetConf(large.PuppetConf())+"jruby: {interval: 1s}\n")
	config := tcpDefaults
	for _, w := range ways {
		w.address = lab.FreeAddress(t, "127.0.0.1")
		config += fmt.Sprintf("listen %s\n bind %s\n balance %s\n option httpchk GET /\n default-server weight 100 inter 1s\n", w.backend(), w.address, w.balance)
		for _, s := range []struct{ name, address, check, agent string }{
			{"small", small.Address(), portOf(t, first.address), firstPort},
			{"large", large.Address(), portOf(t, second.address), secondPort},
		} {
			words := ""
			if w.words != "" {
				words = "agent-check agent-inter 1s agent-port " + s.agent
			}
			config += fmt.Sprintf(" server %s %s check port %s %s\n", s.name, s.address, s.check, words)
		}
	}
	lab.CheckHAProxyConfig(t, config)
	h := lab.StartHAProxy(t, config)
	for _, w := range ways {
		for _, server := range []string{"small", "large"} {
			awaitServer(t, h, w.backend(), server, "UP", 10*time.Second)
		}
	}
	return h, []*rig{first, second}
}

// run lets the crowd run for a while, and counts what ends after a quarter of it:
// the weights have to settle.
func (w *weighed) run(t *testing.T, a *puppetAgent, h *lab.HAProxy, rigs []*rig, each time.Duration) load {
	t.Helper()
	began := time.Now()
	counted, end := began.Add(each/4), began.Add(each)
	var (
		mu    sync.Mutex
		took  []time.Duration
		group sync.WaitGroup
	)
	for range crowd {
		group.Go(func() {
			for start := time.Now(); start.Before(end); start = time.Now() {
				if err := a.run(w.address); err != nil {
					t.Errorf("%s: %v", w.name, err)
					return
				}
				if mu.Lock(); time.Now().After(counted) {
					took = append(took, time.Since(start))
				}
				mu.Unlock()
			}
		})
	}
	waiting, looks, weights := 0, 0, ""
	for time.Sleep(time.Until(counted)); time.Now().Before(end); time.Sleep(time.Second) {
		looks++
		for _, r := range rigs {
			waiting += r.waiting()
		}
		weights = fmt.Sprintf("%d:%d", h.Stat(w.backend(), "small").Weight, h.Stat(w.backend(), "large").Weight)
	}
	group.Wait()
	if len(took) == 0 {
		t.Fatalf("%s: no runs", w.name)
	}
	slices.Sort(took)
	return load{p50: took[len(took)/2], p95: took[len(took)*95/100], runs: len(took), waiting: float64(waiting) / float64(looks), weights: weights}
}

// waiting is how many requests wait for a JRuby.
func (r *rig) waiting() int {
	server, _ := r.status().Service(agent.Server)
	for _, c := range server.Checks {
		if c.Pool != nil {
			return len(c.Pool.Waiting)
		}
	}
	return 0
}

// median takes each figure's own.
func median(list []load) load {
	middle := func(less func(a, b load) int) load {
		sorted := slices.SortedFunc(slices.Values(list), less)
		return sorted[len(sorted)/2]
	}
	return load{
		p50:     middle(func(a, b load) int { return int(a.p50 - b.p50) }).p50,
		p95:     middle(func(a, b load) int { return int(a.p95 - b.p95) }).p95,
		runs:    middle(func(a, b load) int { return a.runs - b.runs }).runs,
		waiting: middle(func(a, b load) int { return int(100 * (a.waiting - b.waiting)) }).waiting,
		weights: "-",
	}
}
