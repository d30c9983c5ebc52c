//go:build linux

package bench_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// benchmarkFaults measures how long after a fault HAProxy stops sending agents, with the
// ancestor and with pmcheck. All ways watch the same master at the same time.
func benchmarkFaults(b *testing.B, master *lab.PuppetServer) {
	const patience, stuckAfter = 60 * time.Second, 5 * time.Second
	ancestor := lab.StartAncestor(b, master.Address())
	pmcheck := lab.Address(b, "127.0.0.1")
	config := serveConfig(b, pmcheck, master.Address(), master.PuppetConf(),
		fmt.Sprintf("jruby: {stuck_after: %v}", stuckAfter))
	startDaemon(b, nil, config)
	ways := []*way{
		{name: "ancestor, its lines", lines: ancestorLines, address: ancestor.Address()},
		{name: "pmcheck, the README's lines", lines: readmeLines(b), address: pmcheck},
		{name: "pmcheck, inter 500ms fastinter 100ms", lines: quickLines, address: pmcheck},
	}
	h := lab.StartHAProxy(b, backends(b, ways, master.Address()))
	for _, w := range ways {
		w.down = map[string][]float64{}
	}
	faults := allFaults()
	for round := range rounds {
		for i, f := range faults {
			waitForUp(b, h, ways)
			time.Sleep(rand.N(2 * time.Second)) // so that faults are not in step with checks
			var note func()
			mend := f.begin(b, master, func() { note = observe(h, ways, f.name, patience) })
			note()
			if round < rounds-1 || i < len(faults)-1 {
				mend()
			}
		}
	}
	compareFaults(b, faults, ways, patience, stuckAfter)
}

// waitForUp waits until HAProxy has the master UP in all ways.
func waitForUp(b *testing.B, h *lab.HAProxy, ways []*way) {
	b.Helper()
	for i := range ways {
		h.WaitStat(fmt.Sprintf("way%d", i), "m1", func(s lab.ServerStat) bool {
			return s.Status == "UP" && s.CheckStatus == "L7OK"
		}, time.Minute)
	}
}

// observe starts to measure. It returns a function that waits until each way's backend has the master DOWN, or
// patience is over, and records the times.
func observe(h *lab.HAProxy, ways []*way, fault string, patience time.Duration) (note func()) {
	began := time.Now()
	down := make([]float64, len(ways))
	var watching sync.WaitGroup
	for i := range ways {
		watching.Go(func() {
			down[i] = math.Inf(1) // never
			for time.Since(began) < patience {
				asked := time.Now()
				if isDown(h, fmt.Sprintf("way%d", i)) {
					down[i] = time.Since(began).Seconds()
					return
				}
				time.Sleep(max(10*time.Millisecond, 4*time.Since(asked))) // leaves the CPUs to the others
			}
		})
	}
	return func() {
		watching.Wait()
		for i, w := range ways {
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

func compareFaults(b *testing.B, faults []fault, ways []*way, patience, stuckAfter time.Duration) {
	b.Helper()
	t := &table{title: "From a fault to DOWN in HAProxy"}
	t.row("fault", "", "DOWN after", "sooner than the ancestor")
	for _, f := range faults {
		never := math.IsInf(median(ways[0].down[f.name]), 1)
		for _, w := range ways {
			sooner := ratio(ways[0].down[f.name], w.down[f.name])
			text := fmt.Sprintf("%.1f times", sooner)
			if never {
				text = "" // the ancestor never noticed
			}
			t.row(f.name, w.name, secondsOrNever(w.down[f.name], patience), text)
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
