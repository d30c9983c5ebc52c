package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// agentName is whose catalog the requests in a jam ask for.
const agentName = "agent.lab.example"

// catalogPath is what an agent asks for.
func catalogPath(certname string) string {
	return "/puppet/v3/catalog/" + certname + "?environment=production"
}

// A jam is compiles that do not end, one in each JRuby, and requests that wait
// behind them.
type jam struct {
	t        *testing.T
	server   *lab.PuppetServer
	gate     string // a file; while it is there no compile ends
	requests sync.WaitGroup
	mu       sync.Mutex
	answers  map[string]int // by status
}

// newJam has a compile occupy each JRuby. It ends with the test.
func newJam(t *testing.T, s *lab.PuppetServer) *jam {
	t.Helper()
	j := &jam{t: t, server: s, gate: filepath.Join(s.Dir, "gate"), answers: map[string]int{}}
	script := filepath.Join(s.Dir, "wait.sh")
	for path, content := range map[string]string{j.gate: "", script: waitScript(j.gate)} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.SetSitePP(waitManifest(script))
	t.Cleanup(j.end)
	j.add(jrubies, catalogPath(agentName))
	return j
}

// queue has so many requests wait for a JRuby, that each will need for a
// moment.
func (j *jam) queue(n int) { j.add(n, "/puppet/v3/environments") }

// waitScript ends once a file is gone. systemd asks all processes of a unit to
// end, this one too, which would be the end of the catalog.
func waitScript(gate string) string {
	return fmt.Sprintf("trap '' TERM\nwhile [ -e %s ]; do sleep 0.2; done\n", gate)
}

// waitManifest is a site.pp whose compile lasts as long as a script.
func waitManifest(script string) string { return fmt.Sprintf("generate('/bin/sh', '%s')\n", script) }

// add has so many agents ask. One that is turned away at the door, as in a
// crowd, comes again.
func (j *jam) add(n int, path string) {
	for range n {
		j.requests.Go(func() {
			code, _, err := j.server.Get(agentName, path)
			for err != nil && j.shut() {
				time.Sleep(100 * time.Millisecond)
				code, _, err = j.server.Get(agentName, path)
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			if err != nil {
				j.answers["none"]++
			} else {
				j.answers[http.StatusText(code)]++
			}
		})
	}
}

// awaitAtWork waits until pmcheck has seen all JRubies at work: compiles that
// come after others may wait behind these.
func (j *jam) awaitAtWork(r *rig) {
	j.t.Helper()
	lab.RetryUntil(j.t, time.Minute, 20*time.Millisecond, func() error {
		f := finding(r.status(), check.CheckJRuby)
		if f.Pool == nil || len(f.Pool.Borrowed) < jrubies {
			return fmt.Errorf("the pool has %s, want %d at work", f.Value, jrubies)
		}
		return nil
	})
}

// shut reports whether compiles do not end.
func (j *jam) shut() bool {
	_, err := os.Stat(j.gate)
	return err == nil
}

// open lets all compiles end; those that come after are quick.
func (j *jam) open() {
	j.server.SetSitePP("")
	if err := os.Remove(j.gate); err != nil && !os.IsNotExist(err) {
		j.t.Error(err)
	}
}

// end opens and waits for all answers. More than once is once.
func (j *jam) end() {
	j.open()
	j.requests.Wait()
}

// testJRubies: with every JRuby at work and requests waiting a master is busy;
// when none comes back, it is stuck.
func testJRubies(t *testing.T, s *lab.PuppetServer, seen *sights) {
	conf := puppetConf(s.PuppetConf())
	usual := serve(t, conf)
	impatient := serve(t, conf+"jruby: {interval: 1s, stuck_after: 5s}\n")
	began := time.Now()
	j := newJam(t, s)
	j.awaitAtWork(impatient)
	queued := time.Now()
	j.queue(2)

	usual.awaitServing("busy: jruby-busy", 20*time.Second)
	seen.add("all JRubies at work, requests wait", serves("busy: jruby-busy"), time.Since(queued), curl(s))
	impatient.awaitRefusal("unhealthy: jruby-stuck", 30*time.Second)
	seen.add("all JRubies stuck in `generate()` (`stuck_after: 5s`)", refuses("unhealthy: jruby-stuck"), time.Since(began), curl(s))
	f := finding(impatient.status(), check.CheckJRuby)
	measured(t, "all JRubies stuck, in words", f.Detail)
	if want := fmt.Sprintf("%d of %d ready, %d at work, 2 waiting", jrubies, jrubies, jrubies); f.Value != want {
		t.Errorf("the pool is %q, want %q", f.Value, want)
	}
	if !strings.Contains(f.Detail, "GET /puppet/v3/catalog/"+agentName) {
		t.Errorf("%q does not name the request that is stuck", f.Detail)
	}

	j.end()
	measured(t, "JRubies free to 200", impatient.await(http.StatusOK, answer.Serving, 20*time.Second))
	usual.awaitServing("healthy: ok", 20*time.Second)
}

// A flood is more requests than Jetty has threads for, 200. Its first part
// leaves some.
const (
	flood     = 250
	firstPart = 180
)

// testFlood: with every thread of Jetty taken not even the status is answered.
// A master whose pool was seen busy stays in for a while.
func testFlood(t *testing.T, s *lab.PuppetServer, seen *sights) {
	r := serve(t, puppetConf(s.PuppetConf()))
	j := newJam(t, s)
	j.awaitAtWork(r)
	j.queue(firstPart - jrubies)
	lab.RetryUntil(t, time.Minute, 20*time.Millisecond, func() error {
		f := finding(r.status(), check.CheckJRuby)
		if f.Pool == nil || len(f.Pool.Waiting) < firstPart-jrubies {
			return fmt.Errorf("the pool has %s, want %d waiting", f.Value, firstPart-jrubies)
		}
		return nil
	})
	measured(t, fmt.Sprint(firstPart, " requests pending, Puppet's own status"), curl(s))

	began := time.Now()
	j.queue(flood - firstPart)
	lab.RetryUntil(t, time.Minute, 10*time.Millisecond, func() error {
		if detail := r.status().Services[0].Verdict.Detail; !strings.Contains(detail, "no answer in time") {
			return fmt.Errorf("the verdict is for %q, want one without an answer", detail)
		}
		return nil
	})
	took := time.Since(began)
	r.awaitServing("busy: jruby-busy", time.Second)
	seen.add(fmt.Sprint(flood, " requests pending: no thread is left"), serves("busy: jruby-busy"), took, curl(s))
	r.awaitRefusal("unhealthy: timeout", 30*time.Second)
	seen.add("the same, for 5 probes in a row (`busy_fall`)", refuses("unhealthy: timeout"), time.Since(began), curl(s))

	began = time.Now()
	j.open()
	measured(t, "compiles end again to 200", r.await(http.StatusOK, answer.Serving, 2*time.Minute))
	j.end()
	measured(t, "answers to the flood", j.answers)
	r.awaitServing("healthy: ok", time.Minute)
	seen.add("compiles end again, all have been served", "200", time.Since(began), curl(s))
}
