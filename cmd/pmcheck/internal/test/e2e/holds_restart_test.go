package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// A diary is what somebody was told who asked about a thousand times per
// second. Only answered may be read while it is being written.
type diary struct {
	answered atomic.Int64
	counts   map[string]int // by answer, such as "503 drain"
	changes  []entry        // whenever an answer differed from the one before
}

type entry struct {
	at     time.Time
	answer string
}

// noAnswer is the entry for a connection that was refused or cut off.
const noAnswer = "none"

// observe asks, and writes down the answers, until stop is called.
func observe(ask func() (code int, body string, err error)) (d *diary, stop func()) {
	d = &diary{counts: map[string]int{}}
	ended := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				d.write(ask())
			}
		}
	})
	return d, sync.OnceFunc(func() {
		close(ended)
		asking.Wait()
	})
}

func (d *diary) write(code int, body string, err error) {
	answer := fmt.Sprintf("%d %s", code, body)
	if err != nil {
		answer = noAnswer
	} else {
		d.answered.Add(1)
	}
	d.counts[answer]++
	if len(d.changes) == 0 || d.changes[len(d.changes)-1].answer != answer {
		d.changes = append(d.changes, entry{time.Now(), answer})
	}
}

// await waits for so many more answers.
func (d *diary) await(t *testing.T, answers int64) {
	t.Helper()
	before := d.answered.Load()
	lab.RetryUntil(t, 20*time.Second, time.Millisecond, func() error {
		if n := d.answered.Load() - before; n < answers {
			return fmt.Errorf("%d answers, want %d", n, answers)
		}
		return nil
	})
}

// first returns when an answer with this beginning came first; zero if none did.
func (d *diary) first(prefix string) time.Time {
	for _, e := range d.changes {
		if strings.HasPrefix(e.answer, prefix) {
			return e.at
		}
	}
	return time.Time{}
}

// told lists the answers in their order, each once until the next one came.
func (d *diary) told() string {
	var answers []string
	for _, e := range d.changes {
		if e.answer != noAnswer {
			answers = append(answers, e.answer)
		}
	}
	return strings.Join(slices.Compact(answers), ", ")
}

func (d *diary) String() string {
	var parts []string
	for _, answer := range slices.Sorted(maps.Keys(d.counts)) {
		parts = append(parts, fmt.Sprintf("%d × %s", d.counts[answer], answer))
	}
	return strings.Join(parts, ", ")
}

// root asks what a balancer asks.
func (r *rig) root() (code int, body string, err error) { return r.ask("/") }

// awaitHealthy waits until the daemon has found the master fit, whatever holds
// it out of service.
func (r *rig) awaitHealthy() {
	r.t.Helper()
	lab.RetryUntil(r.t, 10*time.Second, time.Millisecond, func() error {
		code, body, err := r.ask("/?drain=200&maint=200")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%d %s", code, body)
		}
		return err
	})
}

// end ends the daemon with a signal and waits until it is gone.
func (r *rig) end(sig syscall.Signal) {
	r.t.Helper()
	r.signal(sig)
	select {
	case <-r.done:
	case <-time.After(10 * time.Second):
		r.t.Fatalf("pmcheck has not ended after %v", sig)
	}
}

// TestRestartedWhileHeld: a daemon that starts, stops or dies while the master
// is fit but held never says that it may be used.
func TestRestartedWhileHeld(t *testing.T) {
	lab.Real(t)
	const restarts, each = 50, 20
	_, conf := standIn(t)
	r := newRig(t, conf)
	if _, err := r.store.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain}); err != nil {
		t.Fatal(err)
	}
	d, stop := observe(r.root)
	defer stop()
	r.start()
	for i := range restarts {
		r.awaitHealthy()
		d.await(t, each)
		if i%3 == 0 {
			r.end(syscall.SIGKILL)
		} else {
			r.end(syscall.SIGTERM)
		}
		r.start()
	}
	stop()

	measured(t, "answers across 50 restarts while held", d)
	if got := d.told(); got != "503 drain" {
		t.Errorf("told %s while held, want 503 drain alone", got)
	}
	// The hold was all that kept it out.
	if _, err := r.store.Lift(drain.Operator, ""); err != nil {
		t.Fatal(err)
	}
	r.await(http.StatusOK, answer.Serving, 10*time.Second)
}

// TestExpiry: a hold ends at its time and not before, whether or not the
// daemon saw it begin.
func TestExpiry(t *testing.T) {
	lab.Real(t)
	for _, test := range []struct {
		name      string
		meanwhile func(*rig)
	}{
		{"served throughout", func(*rig) {}},
		{"restarted meanwhile", func(r *rig) { r.end(syscall.SIGTERM); r.start() }},
		{"killed meanwhile", func(r *rig) { r.end(syscall.SIGKILL); r.start() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, conf := standIn(t)
			r := serve(t, conf)
			var made struct{ Set drain.Hold }
			r.runJSON(&made, "drain", "--for", "2500ms", "--json")
			d, stop := observe(r.root)
			defer stop()
			test.meanwhile(r)
			r.await(http.StatusOK, answer.Serving, 10*time.Second)
			d.await(t, 10) // so that it knows too
			stop()
			late := d.first("200").Sub(made.Set.Until)
			within(t, "end of a hold to 200, "+test.name, late, time.Second)
			if late < 0 {
				t.Errorf("200 was told %v before the end of the hold", -late)
			}
			lab.RetryUntil(t, 5*time.Second, 10*time.Millisecond, func() error {
				if !strings.Contains(r.log(), "hold expired") {
					return fmt.Errorf("the log does not tell of the end of the hold")
				}
				return nil
			})
		})
	}
}
