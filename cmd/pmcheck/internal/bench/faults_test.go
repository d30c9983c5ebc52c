package bench_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/lab"
)

// A fault is something that befalls a master. begin calls began when it does, and
// returns what mends it, after which the master is ready.
type fault struct {
	name  string
	begin func(b *testing.B, s *lab.PuppetServer, began func()) (mend func())
}

// allFaults has the one last that takes a restart to mend: after it nothing follows.
func allFaults() []fault {
	return []fault{
		{"every JRuby stuck", stick},
		{"stopped (SIGSTOP)", func(_ *testing.B, s *lab.PuppetServer, began func()) func() {
			began()
			s.Signal(syscall.SIGSTOP)
			return func() { s.Signal(syscall.SIGCONT) }
		}},
		{"killed (SIGKILL)", func(_ *testing.B, s *lab.PuppetServer, began func()) func() {
			began()
			s.Kill()
			return func() { s.Start(); s.WaitReady(3 * time.Minute) }
		}},
	}
}

// stick has a compile wait in generate(), in the only JRuby, and then two requests
// wait for it.
func stick(b *testing.B, s *lab.PuppetServer, began func()) (mend func()) {
	b.Helper()
	const agent = "agent.lab.example"
	s.IssueCert(agent, nil)
	script := filepath.Join(s.Dir, "wait.sh")
	gate, inside := filepath.Join(s.Dir, "gate"), filepath.Join(s.Dir, "run/inside")
	text := fmt.Sprintf("touch %s\nwhile [ -e %s ]; do sleep 0.2; done\nrm %s\n", inside, gate, inside)
	for path, content := range map[string]string{gate: "", script: text} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	s.SetSitePP(fmt.Sprintf("generate('/bin/sh', '%s')\n", script))
	var requests sync.WaitGroup
	ask := func(path string) {
		requests.Go(func() {
			if code, _, err := s.Get(agent, path); err != nil {
				b.Errorf("%s: %d, %v", path, code, err)
			}
		})
	}
	ask("/puppet/v3/catalog/" + agent + "?environment=production")
	lab.RetryUntil(b, time.Minute, 10*time.Millisecond, func() error { _, err := os.Stat(inside); return err })
	began()
	ask("/puppet/v3/environments")
	ask("/puppet/v3/environments")
	return func() {
		s.SetSitePP("")
		if err := os.Remove(gate); err != nil {
			b.Error(err)
		}
		requests.Wait()
	}
}

// A way is how HAProxy learns of a fault.
type way struct {
	name    string
	lines   string // of its backend
	address string // of who is asked

	refused, down map[string][]float64 // seconds from each fault to 503 and to DOWN, by round
}

// ancestorLines are what the recipe of 2013 has, with the numbers of the README.
const ancestorLines = `    option httpchk
    default-server check port 9200 inter 2s fall 3 rise 2
`

// quickLines ask as often as a check may that costs next to nothing.
const quickLines = `    option httpchk GET /
    http-check send-state
    default-server check port 9200 inter 500ms fastinter 100ms fall 3 rise 2
`

// readmeLines are those that the README asks people to paste.
func readmeLines(b *testing.B) string {
	b.Helper()
	readme, err := os.ReadFile("../../../../README.md")
	if err != nil {
		b.Fatal(err)
	}
	_, block, _ := strings.Cut(string(readme), "```haproxy\nbackend puppet\n")
	block, _, found := strings.Cut(block, "    server ")
	if !found {
		b.Fatal("README.md: no backend for HAProxy")
	}
	return block
}

// benchmarkFaults asks how long after a fault HAProxy no longer sends agents,
// with the ancestor and with pmcheck side by side: each fault befalls the same
// master at the same moment for all.
func benchmarkFaults(b *testing.B, master *lab.PuppetServer) {
	patience, stuckAfter := 60*time.Second, 5*time.Second
	if testing.Short() {
		patience, stuckAfter = 3*time.Second, time.Second
	}
	ancestor := lab.StartAncestor(b, master.Address())
	pmcheck := lab.FreeAddress(b, "127.0.0.1")
	config := serveConfig(b, pmcheck, master.Address(), master.PuppetConf(), fmt.Sprintf("jruby: {stuck_after: %v}", stuckAfter))
	start(b, nil, lab.Build(b), "serve", "--config", config)
	ways := []*way{
		{name: "ancestor, its lines", lines: ancestorLines, address: ancestor.Address()},
		{name: "pmcheck, the same lines", lines: ancestorLines, address: pmcheck},
		{name: "pmcheck, the README's lines", lines: readmeLines(b), address: pmcheck},
		{name: "pmcheck, inter 500ms fastinter 100ms", lines: quickLines, address: pmcheck},
	}
	h := lab.StartHAProxy(b, backends(b, ways, master.Address()))
	for _, w := range ways {
		w.refused, w.down = map[string][]float64{}, map[string][]float64{}
	}
	faults, times := allFaults(), min(rounds(b), 3)
	for round := range times {
		for i, f := range faults {
			awaitUp(b, h, ways)
			time.Sleep(rand.N(window(2 * time.Second))) // checks are not in step with faults
			var note func()
			mend := f.begin(b, master, func() { note = observe(h, ways, f.name, patience) })
			note()
			if round < times-1 || i < len(faults)-1 {
				mend()
			}
		}
	}
	compareFaults(b, faults, ways, patience, stuckAfter)
}

// backends is a configuration with a backend for each way.
func backends(b *testing.B, ways []*way, master string) string {
	b.Helper()
	config := &strings.Builder{}
	fmt.Fprint(config, "defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 30m\n    timeout server 30m\n")
	for i, w := range ways {
		host, port, err := net.SplitHostPort(w.address)
		if err != nil {
			b.Fatal(err)
		}
		lines := strings.Replace(w.lines, "check port 9200", "check addr "+host+" port "+port, 1)
		fmt.Fprintf(config, "backend way%d\n%s    server m1 %s\n", i, lines, master)
	}
	return config.String()
}

// awaitUp waits until all have the master back.
func awaitUp(b *testing.B, h *lab.HAProxy, ways []*way) {
	b.Helper()
	for i := range ways {
		h.WaitStat(fmt.Sprintf("way%d", i), "m1", func(s lab.ServerStat) bool {
			return s.Status == "UP" && s.CheckStatus == "L7OK"
		}, time.Minute)
	}
}

// observe begins to measure. What it returns waits until HAProxy knows of the
// fault in every way, or patience has run out, and notes when it did.
func observe(h *lab.HAProxy, ways []*way, fault string, patience time.Duration) (note func()) {
	began := time.Now()
	until := func(known func() bool) float64 {
		for time.Since(began) < patience {
			asked := time.Now()
			if known() {
				return time.Since(began).Seconds()
			}
			time.Sleep(max(10*time.Millisecond, 4*time.Since(asked))) // leaves the machine to others
		}
		return math.Inf(1) // never
	}
	refused, down := make([]float64, len(ways)), make([]float64, len(ways))
	var watching sync.WaitGroup
	for i, w := range ways {
		watching.Go(func() { down[i] = until(func() bool { return isDown(h, fmt.Sprintf("way%d", i)) }) })
		watching.Go(func() {
			refused[i] = until(func() bool {
				var r refusal
				return errors.As(check(w.address), &r)
			})
		})
	}
	return func() {
		watching.Wait()
		for i, w := range ways {
			w.refused[fault] = append(w.refused[fault], refused[i])
			w.down[fault] = append(w.down[fault], down[i])
		}
	}
}

func isDown(h *lab.HAProxy, backend string) bool {
	stats, err := h.Stats()
	if err != nil {
		return false
	}
	for _, s := range stats {
		if s.Backend == backend {
			return s.Status == "DOWN"
		}
	}
	return false
}

// goalSooner is how many times sooner HAProxy is to know with pmcheck.
const goalSooner = 3

func compareFaults(b *testing.B, faults []fault, ways []*way, patience, stuckAfter time.Duration) {
	b.Helper()
	t := table{title: "From a fault to 503, and to DOWN in HAProxy"}
	t.row("fault", "", "503 after", "DOWN after", "sooner than the ancestor")
	for _, f := range faults {
		never := math.IsInf(median(ways[0].down[f.name]), 1)
		for _, w := range ways {
			sooner := ratio(ways[0].down[f.name], w.down[f.name])
			text := fmt.Sprintf("%.1f times", sooner)
			if never {
				text = "" // than never
			}
			t.row(f.name, w.name, secondsOrNever(w.refused[f.name], patience), secondsOrNever(w.down[f.name], patience), text)
			if w != ways[0] && !never {
				t.goal(sooner >= goalSooner, "%s, %s: DOWN %.1f times sooner, wanted %d", f.name, w.name, sooner, goalSooner)
			}
		}
	}
	t.note("jruby: {stuck_after: %v}; the default is 2m, so that no slow catalog takes a master out", stuckAfter)
	t.add(b)
}

func secondsOrNever(values []float64, patience time.Duration) string {
	if m := median(values); !math.IsInf(m, 1) {
		return fmt.Sprintf("%.2f s", m)
	}
	return fmt.Sprintf("never within %v", patience)
}
