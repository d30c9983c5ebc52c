//go:build linux

package pool_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A mix is how many stand-ins want which catalogs. With them comes a real agent
// for each kind, or two for the only one, and at least one of each version.
type mix struct{ quick, slow int }

func (m mix) String() string {
	switch {
	case m.slow == 0:
		return "1 s"
	case m.quick == 0:
		return "20 s"
	}
	return "mixed"
}

// A run is one that has ended.
type run struct {
	slow         bool
	real         bool
	master       string // that compiled the catalog, if that is known
	began, ended time.Time
	err          error
}

// A load is agents that run again and again, in turn through each balancer.
type load struct {
	done chan struct{}
	stop func() // closes done
	wait sync.WaitGroup

	mu   sync.Mutex
	runs []run
}

// startLoad returns a load without agents. They end with the test at the latest.
func startLoad(t *testing.T) *load {
	done := make(chan struct{})
	l := &load{done: done, stop: sync.OnceFunc(func() { close(done) })}
	t.Cleanup(l.end)
	return l
}

// start has the agents of a mix begin.
func (p *pool) start(t *testing.T, m mix) *load {
	l := startLoad(t)
	for i, a := range p.agents(m) {
		_, real := a.(puppet)
		pause := time.Second
		if real {
			pause = 5 * time.Second // it costs a core for seconds, which masters need more
		}
		l.repeat(pause, func(r *run) {
			r.slow, r.real = strings.HasPrefix(a.name(), slow), real
			r.err = a.run(p.balancers[i%len(p.balancers)].endpoint)
			i++
		})
	}
	return l
}

// repeat has an agent run again and again.
func (l *load) repeat(pause time.Duration, once func(*run)) {
	l.wait.Go(func() {
		for {
			r := run{began: time.Now()}
			once(&r)
			r.ended = time.Now()
			l.note(r)
			select {
			case <-l.done:
				return
			case <-time.After(pause):
			}
		}
	})
}

// agents picks the agents of a mix.
func (p *pool) agents(m mix) []agent {
	var list []agent
	for _, kind := range []struct {
		name  string
		count int
		real  int
	}{
		{quick, m.quick, max(1+btoi(m.slow == 0), len(p.workshops))},
		{slow, m.slow, max(1+btoi(m.quick == 0), len(p.workshops))},
	} {
		if kind.count == 0 {
			continue
		}
		list = append(list, p.standIns[kind.name][:kind.count]...)
		list = append(list, p.puppets[kind.name][:kind.real]...)
	}
	return list
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (l *load) note(r run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs = append(l.runs, r)
}

// end waits until the runs that have begun have ended.
func (l *load) end() {
	l.stop()
	l.wait.Wait()
}

// waitForRuns waits until so many runs have ended.
func (l *load) waitForRuns(t *testing.T, n int) {
	t.Helper()
	l.waitForRunsAfter(t, n, time.Time{})
}

// waitForRunsAfter waits until so many runs have ended that began after a moment.
func (l *load) waitForRunsAfter(t *testing.T, n int, after time.Time) {
	t.Helper()
	lab.WaitFor(t, 20*time.Minute, 100*time.Millisecond, func() error {
		if got := len(l.since(after)); got < n {
			return fmt.Errorf("%d runs, want %d", got, n)
		}
		return nil
	})
}

// since returns the runs that began after a moment and have ended.
func (l *load) since(after time.Time) (list []run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if r.began.After(after) {
			list = append(list, r)
		}
	}
	return list
}

// p95 is the time that all but 5% of the runs took no longer than; 0 of none.
func p95(runs []run) time.Duration {
	if len(runs) == 0 {
		return 0
	}
	times := make([]time.Duration, 0, len(runs))
	for _, r := range runs {
		times = append(times, r.ended.Sub(r.began))
	}
	slices.Sort(times)
	return times[(len(times)*95+99)/100-1]
}
