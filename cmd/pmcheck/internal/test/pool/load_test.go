package pool_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A mix is how many stand-ins want which catalogs. With those of each kind comes a real agent.
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

type run struct {
	slow         bool
	real         bool
	master       string // that compiled the catalog, if that is known
	began, ended time.Time
	err          error
}

// A load is agents that run again and again, in turn through each balancer.
type load struct {
	done <-chan struct{}
	stop func() // closes done
	wait sync.WaitGroup

	mu   sync.Mutex
	runs []run
}

// startLoad returns a load without agents. They end with the test at the latest.
func startLoad(t *testing.T) *load {
	ctx, stop := context.WithCancel(context.Background())
	l := &load{done: ctx.Done(), stop: stop}
	t.Cleanup(l.end)
	return l
}

func (p *pool) start(m mix) *load {
	l, n := startLoad(p.t), 0
	for kind, count := range map[string]int{quick: m.quick, slow: m.slow} {
		if count == 0 {
			continue
		}
		for _, a := range slices.Concat(p.standIns[kind][:count], p.puppets[kind]) {
			_, real := a.(puppet)
			pause := time.Second
			if real {
				pause = 5 * time.Second // it costs a core for seconds, which masters need more
			}
			i := n
			n++
			l.repeat(pause, func(r *run) {
				r.slow, r.real = kind == slow, real
				r.err = a.run(p.balancers[i%len(p.balancers)].endpoint)
				i++
			})
		}
	}
	return l
}

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

// waitForRuns waits until so many runs have ended that began after a moment, and returns them.
func (l *load) waitForRuns(t *testing.T, n int, after time.Time) (list []run) {
	t.Helper()
	lab.WaitFor(t, 20*time.Minute, 100*time.Millisecond, func() error {
		l.mu.Lock()
		list = slices.DeleteFunc(slices.Clone(l.runs), func(r run) bool { return !r.began.After(after) })
		l.mu.Unlock()
		if len(list) < n {
			return fmt.Errorf("%d runs, want %d", len(list), n)
		}
		return nil
	})
	return list
}
