//go:build linux

package e2e_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// agentsAtOnce is how many agents run without a pause.
const agentsAtOnce = 20

// A weighting is one way to share agents among masters of unequal size.
type weighting struct {
	name    string
	balance string
	agent   bool   // with agent-check
	sizes   [2]int // the weights on the server lines
	address string
}

// A load is what was measured of one way in one round.
type load struct {
	p50, p95 time.Duration
	runs     int
	waiting  float64 // requests, for both masters together
	small    float64 // mean weights
	large    float64
}

// testWeights runs the same agents against both masters in each way, in turn. It measures
// which way is best, and asserts that every run succeeds, that busy masters have less than
// their full weight, and that the small one has less than the large one. In a few seconds the
// weights still swing, so that is asserted of the long form only.
func testWeights(t *testing.T, small, large *lab.PuppetServer) {
	rounds, each, catalog := 1, 5*time.Second, "0.2"
	if long() {
		rounds, each, catalog = 5, 30*time.Second, "1"
	}
	for _, s := range []*lab.PuppetServer{small, large} {
		s.SetSitePP(fmt.Sprintf("notice(generate('/bin/sleep', '%s'))", catalog))
	}
	ways := []*weighting{
		{name: "leastconn", balance: "leastconn", sizes: [2]int{100, 100}},
		{name: "leastconn + weights", balance: "leastconn", agent: true, sizes: [2]int{100, 100}},
		{name: "roundrobin + weights", balance: "roundrobin", agent: true, sizes: [2]int{100, 100}},
		{name: "leastconn by size", balance: "leastconn", sizes: [2]int{50, 150}},
	}
	h, sites := startWeighted(t, small, large, ways)
	agent := newAgent(t, "agent.lab.example", small, large)
	table := map[string][]load{}
	for round := range rounds {
		for i := range ways {
			w := ways[(round+i)%len(ways)] // the first way meets colder masters
			table[w.name] = append(table[w.name], w.run(t, agent, h, sites, each))
		}
	}
	for _, w := range ways {
		for round, l := range table[w.name] {
			measured(t, fmt.Sprintf("round %d, %-20s", round+1, w.name), l)
		}
		measured(t, fmt.Sprintf("median,  %-20s", w.name), median(table[w.name]))
		last := table[w.name][rounds-1]
		if w.agent && (max(last.small, last.large) >= 100 || long() && last.small >= last.large) {
			t.Errorf("%s: weight %.0f for the small master, %.0f for the large one", w.name, last.small, last.large)
		}
	}
}

func (l load) String() string {
	return fmt.Sprintf("p50 %.2f s  p95 %.2f s  %d runs  %.1f waiting  weights %.0f:%.0f",
		l.p50.Seconds(), l.p95.Seconds(), l.runs, l.waiting, l.small, l.large)
}

func (w *weighting) backend() string { return strings.Map(letter, w.name) }

// letter drops all characters but letters, for the name of a backend.
func letter(r rune) rune {
	if unicode.IsLetter(r) {
		return r
	}
	return -1
}

// startWeighted starts a pmcheck for each master, and one HAProxy that fronts both
// in each way.
func startWeighted(t *testing.T, small, large *lab.PuppetServer, ways []*weighting) (*lab.HAProxy, []*lab.Site) {
	t.Helper()
	var sites []*lab.Site
	for _, s := range []*lab.PuppetServer{small, large} {
		yaml := agentYAML + "jruby: {interval: 1s}\n"
		sites = append(sites, lab.StartSite(t, lab.SiteOptions{Server: s, YAML: yaml}))
	}
	config := tcpDefaults
	for _, w := range ways {
		w.address = lab.Address(t, "127.0.0.1")
		config += fmt.Sprintf("listen %s\n bind %s\n balance %s\n option httpchk GET /\n default-server inter 1s\n",
			w.backend(), w.address, w.balance)
		words := ""
		if w.agent {
			words = "agent-check agent-inter 1s agent-port AGENT-PORT"
		}
		for i, name := range []string{"small", "large"} {
			line := fmt.Sprintf(" server %s MASTER weight %d check port LISTEN-PORT %s\n", name, w.sizes[i], words)
			config += sites[i].Expand(line)
		}
	}
	h := sites[0].Balance(config)
	for _, w := range ways {
		for _, server := range []string{"small", "large"} {
			h.WaitStatus(w.backend(), server, "UP", 10*time.Second)
		}
	}
	return h, sites
}

// run runs the agents for the time each, and counts the runs that end after the first
// quarter, in which the weights settle.
func (w *weighting) run(t *testing.T, a *puppetAgent, h *lab.HAProxy, sites []*lab.Site, each time.Duration) load {
	t.Helper()
	began := time.Now()
	counted, end := began.Add(each/4), began.Add(each)
	var (
		mu    sync.Mutex
		took  []time.Duration
		group sync.WaitGroup
	)
	for range agentsAtOnce {
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
	var l load
	looks := 0
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for range look.C {
		if time.Now().Before(counted) {
			continue
		}
		if time.Now().After(end) {
			break
		}
		looks++
		for _, r := range sites {
			l.waiting += float64(waitingRequests(r))
		}
		l.small += float64(h.Stat(w.backend(), "small").Weight)
		l.large += float64(h.Stat(w.backend(), "large").Weight)
	}
	group.Wait()
	if len(took) == 0 {
		t.Fatalf("%s: no runs", w.name)
	}
	slices.Sort(took)
	l.p50, l.p95, l.runs = took[len(took)/2], took[len(took)*95/100], len(took)
	for _, sum := range []*float64{&l.waiting, &l.small, &l.large} {
		*sum /= float64(looks)
	}
	return l
}

// waitingRequests returns how many requests wait for a JRuby.
func waitingRequests(r *lab.Site) int {
	server, _ := r.Status().Service(lab.ServerService)
	for _, c := range server.Checks {
		if c.Pool != nil {
			return len(c.Pool.Waiting)
		}
	}
	return 0
}

// median returns the median of each figure by itself.
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
		small:   middle(func(a, b load) int { return cmp.Compare(a.small, b.small) }).small,
		large:   middle(func(a, b load) int { return cmp.Compare(a.large, b.large) }).large,
	}
}
