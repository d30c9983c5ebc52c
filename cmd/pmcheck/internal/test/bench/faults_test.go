package bench_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A way is a means by which HAProxy notices faults: lines of a backend, and the program that its health checks ask.
type way struct{ name, lines, address string }

// ancestorLines are the lines of the recipe of 2013, with the check intervals of README.md.
const ancestorLines = `    option httpchk
    default-server check port 9200 inter 2s fall 3 rise 2
`

// quickLines check more often, since a check of pmcheck costs next to nothing.
const quickLines = `    option httpchk GET /
    http-check send-state
    default-server check port 9200 inter 500ms fastinter 100ms fall 3 rise 2
`

// A fault is something that happens to a master. begin returns as soon as it has happened, with a function that
// mends it.
type fault struct {
	name  string
	begin func(b *testing.B, s *lab.PuppetServer) (mend func())
}

func allFaults() []fault {
	return []fault{
		{"killed", func(_ *testing.B, s *lab.PuppetServer) func() {
			s.Signal(syscall.SIGKILL)
			return func() { s.Kill(); s.Start(); s.WaitReady(3 * time.Minute) }
		}},
		{"stopped (`kill -STOP`)", func(_ *testing.B, s *lab.PuppetServer) func() {
			s.Signal(syscall.SIGSTOP)
			return func() { s.Signal(syscall.SIGCONT) }
		}},
		{"every JRuby stuck (`stuck_after: 5s`)", stick},
	}
}

// stick makes a compile wait in generate(), in the only JRuby, and then sends two requests
// that wait for the JRuby.
func stick(b *testing.B, s *lab.PuppetServer) (mend func()) {
	b.Helper()
	const agent = "agent.lab.example"
	s.IssueCert(agent, nil)
	script := filepath.Join(s.Dir, "wait.sh")
	block, inside := filepath.Join(s.Dir, "block"), filepath.Join(s.Dir, "run/inside")
	lab.Write(b, block, "")
	lab.Write(b, script, fmt.Sprintf("touch %s\nwhile [ -e %s ]; do sleep 0.2; done\nrm %[1]s\n", inside, block))
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
	lab.WaitFor(b, time.Minute, 10*time.Millisecond, func() error { _, err := os.Stat(inside); return err })
	ask("/puppet/v3/environments")
	ask("/puppet/v3/environments")
	return func() {
		s.SetSitePP("")
		if err := os.Remove(block); err != nil {
			b.Error(err)
		}
		requests.Wait()
	}
}

// faults measures how long after a fault HAProxy has the master DOWN, with the ancestor and with pmcheck. All ways
// watch the same master at the same time.
func faults(b *testing.B, site *lab.Site, ancestor *lab.Ancestor) (table string) {
	b.Helper()
	site.Configure("jruby: {stuck_after: 5s}\n")
	startDaemon(b, site)
	ways := []way{
		{"ancestor, `inter 2s fall 3`", ancestorLines, ancestor.Address()},
		{"pmcheck, the backend in the README", readmeLines(b), site.Listen},
		{"pmcheck, `inter 500ms fastinter 100ms`", quickLines, site.Listen},
	}
	config := ""
	for i, w := range ways {
		host, port, err := net.SplitHostPort(w.address)
		lab.Must(b, err)
		lines := strings.Replace(w.lines, "check port 9200", "check addr "+host+" port "+port, 1)
		config += fmt.Sprintf("backend %s\n%s    server m1 %s\n", backend(i), lines, site.Server.Address())
	}
	h := lab.StartHAProxy(b, config)
	down := map[string][]float64{} // seconds by fault and backend, one for each round
	for range rounds {
		for _, f := range allFaults() {
			h.WaitEach(time.Minute, lab.ServerStat.Healthy)
			time.Sleep(rand.N(2 * time.Second)) // so that faults are not in step with checks
			mend := f.begin(b, site.Server)
			for i, seconds := range watch(h, len(ways)) {
				down[f.name+backend(i)] = append(down[f.name+backend(i)], seconds)
			}
			mend()
		}
	}
	header, rule := "| |", "| --- |"
	for _, f := range allFaults() {
		header, rule = header+" "+f.name+" |", rule+" ---: |"
	}
	table = header + "\n" + rule + "\n"
	for i, w := range ways {
		table += "| " + w.name + " |"
		for _, f := range allFaults() {
			text := "never within a minute"
			if m := median(down[f.name+backend(i)]); m < patience.Seconds() {
				text = fmt.Sprintf("%.1f s", m)
			}
			table += " " + text + " |"
		}
		table += "\n"
	}
	return table
}

func backend(i int) string { return fmt.Sprintf("way%d", i) }

// patience is how long a fault lasts that is not seen.
const patience = time.Minute

// watch waits until each backend has the master DOWN, or patience is over, and returns the seconds, those of patience
// for never.
func watch(h *lab.HAProxy, backends int) []float64 {
	down, began, left := slices.Repeat([]float64{patience.Seconds()}, backends), time.Now(), backends
	for left > 0 && time.Since(began) < patience {
		time.Sleep(20 * time.Millisecond)
		for i := range down {
			if down[i] == patience.Seconds() && h.Stat(backend(i), "m1").Status == "DOWN" {
				down[i] = time.Since(began).Seconds()
				left--
			}
		}
	}
	return down
}
