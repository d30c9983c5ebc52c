//go:build linux

package pool_test

import (
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
	began, ended time.Time
	err          error
}

// A load is agents that run again and again, in turn through each balancer.
type load struct {
	stop func()
	wait sync.WaitGroup

	mu   sync.Mutex
	runs []run
}

// start has the agents of a mix begin. They end with the test at the latest.
func (p *pool) start(t *testing.T, m mix) *load {
	done := make(chan struct{})
	l := &load{stop: sync.OnceFunc(func() { close(done) })}
	for i, a := range p.agents(m) {
		l.wait.Go(func() { l.loop(a, p, i, done) })
	}
	t.Cleanup(l.end)
	return l
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

func (l *load) loop(a agent, p *pool, i int, done chan struct{}) {
	_, real := a.(puppet)
	pause := time.Second
	if real {
		pause = 5 * time.Second // it costs a core for seconds, which masters need more
	}
	for ; ; i++ {
		r := run{slow: strings.HasPrefix(a.name(), slow), real: real, began: time.Now()}
		r.err = a.run(p.balancers[i%len(p.balancers)].endpoint)
		r.ended = time.Now()
		l.note(r)
		select {
		case <-done:
			return
		case <-time.After(pause):
		}
	}
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

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.runs)
}

// waitForRuns waits until so many runs have ended.
func (l *load) waitForRuns(t *testing.T, n int) {
	t.Helper()
	lab.WaitFor(t, 20*time.Minute, 100*time.Millisecond, func() error {
		if got := l.count(); got < n {
			return shortOf{got, n}
		}
		return nil
	})
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
