package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const agentName = "agent.lab.example"

func catalogPath(certname string) string {
	return "/puppet/v3/catalog/" + certname + "?environment=production"
}

// A blockage is compiles that do not end, one in each JRuby, and requests that wait
// behind them.
type blockage struct {
	t        *testing.T
	server   *lab.PuppetServer
	gate     string // a file; while it exists no compile ends
	compiles int    // one for each JRuby
	requests sync.WaitGroup
}

// startBlockage makes a compile occupy each JRuby, of which there are n, until the test ends.
func startBlockage(t *testing.T, s *lab.PuppetServer, n int) *blockage {
	t.Helper()
	j := &blockage{t: t, server: s, gate: filepath.Join(s.Dir, "gate"), compiles: n}
	script := filepath.Join(s.Dir, "wait.sh")
	lab.Write(t, j.gate, "")
	lab.Write(t, script, fmt.Sprintf("while [ -e %s ]; do sleep 0.2; done\n", j.gate))
	s.SetSitePP(fmt.Sprintf("generate('/bin/sh', '%s')\n", script))
	t.Cleanup(j.end)
	j.add(n, catalogPath(agentName))
	return j
}

// queue makes n requests wait for a JRuby. Each will need it for a moment only.
func (j *blockage) queue(n int) { j.add(n, "/puppet/v3/environments") }

// add makes n agents request a path. An agent whose connection is refused, as happens
// with many at once, retries.
func (j *blockage) add(n int, path string) {
	for range n {
		j.requests.Go(func() {
			for {
				_, _, err := j.server.Get(agentName, path)
				if _, gone := os.Stat(j.gate); err == nil || gone != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
}

// waitForPool waits until pmcheck has seen all JRubies at work, and so many requests that wait.
func (j *blockage) waitForPool(r *lab.Site, waiting int) {
	j.t.Helper()
	r.WaitStatus(time.Minute, func(s lab.Status) error {
		f := lab.Finding(s, check.CheckJRuby)
		if f.Pool == nil || len(f.Pool.Borrowed) < j.compiles || len(f.Pool.Waiting) < waiting {
			return fmt.Errorf("the pool has %s, want %d at work and %d waiting", f.Value, j.compiles, waiting)
		}
		return nil
	})
}

// saturate makes n more requests wait, more than Jetty has threads for, until each of these pmchecks gets no answer. A
// thread that Jetty has in reserve answers what comes next, and takes nothing of what waits: one request more takes it.
func (j *blockage) saturate(n int, sites ...*lab.Site) {
	j.t.Helper()
	const more = 5 * time.Second
	j.queue(n)
	queued := time.Now()
	for _, r := range sites {
		r.WaitStatus(2*time.Minute, func(s lab.Status) error {
			detail := s.Services[0].Verdict.Detail
			if strings.Contains(detail, "but it accepts connections") {
				return nil
			}
			if time.Since(queued) > more {
				j.queue(1)
				queued = time.Now()
			}
			return fmt.Errorf("not saturated: %s", detail)
		})
	}
}

// open lets all compiles end. Later ones are quick.
func (j *blockage) open() {
	j.server.SetSitePP("")
	if err := os.Remove(j.gate); err != nil && !os.IsNotExist(err) {
		j.t.Error(err)
	}
}

// end lets all compiles end and waits for all answers. It may be called again.
func (j *blockage) end() {
	j.open()
	j.requests.Wait()
}

// testJRubies: with every JRuby at work and requests waiting, a master is busy. When no
// JRuby is returned for stuck_after, it is stuck.
func testJRubies(t *testing.T, s *lab.PuppetServer, seen *stateTable) {
	usual := lab.StartSite(t, lab.SiteOptions{Server: s})
	impatient := lab.StartSite(t, lab.SiteOptions{Server: s, YAML: "jruby: {stuck_after: 5s}\n"})
	began := time.Now()
	j := startBlockage(t, s, jrubies)
	j.waitForPool(impatient, 0)
	queued := time.Now()
	j.queue(2)

	usual.WaitVerdict("busy: jruby-busy", 20*time.Second)
	seen.stop(t, s, usual, "all JRubies at work, and `kill -STOP`")
	usual.WaitVerdict("busy: jruby-busy", 20*time.Second)
	seen.add("all JRubies at work, requests wait", serves("busy: jruby-busy"), time.Since(queued), curl(t, s))
	impatient.WaitRefusal("unhealthy: jruby-stuck", 30*time.Second)
	seen.add("all JRubies stuck in `generate()` (`stuck_after: 5s`)",
		refuses("unhealthy: jruby-stuck"), time.Since(began), curl(t, s))
	f := lab.Finding(impatient.Status(), check.CheckJRuby)
	if want := fmt.Sprintf("%d of %d ready, %d at work, 2 waiting", jrubies, jrubies, jrubies); f.Value != want {
		t.Errorf("the pool is %q, want %q", f.Value, want)
	}
	if !strings.Contains(f.Detail, "GET /puppet/v3/catalog/"+agentName) {
		t.Errorf("%q does not name the request that is stuck", f.Detail)
	}

	j.end()
	impatient.WaitServing(time.Minute)
	usual.WaitVerdict("healthy: ok", time.Minute)
}

// stop stops the process of a server that serves until pmcheck says so, which takes probe.interval and
// probe.timeout at most.
func (s *stateTable) stop(t *testing.T, server *lab.PuppetServer, r *lab.Site, state string) {
	began := time.Now()
	server.Signal(syscall.SIGSTOP)
	took := r.WaitRefusal("unhealthy: timeout", 15*time.Second)
	assertWithin(t, state, took, 6500*time.Millisecond+slack)
	s.add(state, refuses("unhealthy: timeout"), time.Since(began), curlFor(t, server, 2))
	server.Signal(syscall.SIGCONT)
}

// adminRule lets the agent flush the JRuby pool.
const adminRule = `{match-request: {path: "/puppet-admin-api", type: path}, allow: "` + agentName + `",
	sort-order: 1, name: "admin"}`

// flushPool makes a server replace all its JRubies.
func flushPool(t *testing.T, s *lab.PuppetServer) {
	t.Helper()
	files := s.CertFiles(agentName)
	lab.Output(t, exec.Command(lab.Need(t, "curl", "curl"), "--noproxy", "*", "--insecure", "--silent", "--show-error",
		"--fail", "--cert", files.Certificate, "--key", files.Key, "--request", "DELETE",
		"https://"+s.Address()+"/puppet-admin-api/v1/jruby-pool"))
}

// testFlush: a flush of the pool, as after new code, leaves no JRuby for seconds. Requests
// wait, and the master stays in service, although JRubies that start take all CPUs.
func testFlush(t *testing.T, s *lab.PuppetServer, seen *stateTable) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s, YAML: "probe: {interval: 1s, timeout: 900ms}\n"})
	r.WaitVerdict("healthy: ok", time.Minute)
	answers := r.Record(50 * time.Millisecond)
	began := time.Now()
	flushPool(t, s)
	r.WaitVerdict("busy: jruby-warming", time.Minute)
	seen.add("the JRuby pool is flushed (`interval: 1s`)",
		serves("busy: jruby-warming"), time.Since(began), curl(t, s))
	if code, body, err := s.Get(agentName, catalogPath(agentName)); code != http.StatusOK {
		t.Errorf("a catalog during the flush: %d %s, %v", code, body, err)
	}
	r.WaitVerdict("healthy: ok", 3*time.Minute)
	answers.Stop().AssertOnly("200 Puppet Server is running.")
}

// A flood is more requests than Jetty has threads, which are 200. Its first part leaves
// some threads free.
const (
	flood     = 250
	firstPart = 180
)

// testFlood: with every thread of Jetty in use, not even the status is answered. The master
// stays in service.
func testFlood(t *testing.T, s *lab.PuppetServer, seen *stateTable) {
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	j := startBlockage(t, s, jrubies)
	j.waitForPool(r, 0)
	j.queue(firstPart - jrubies)
	j.waitForPool(r, firstPart-jrubies)

	began := time.Now()
	j.saturate(flood-firstPart, r)
	r.WaitVerdict("busy: saturated", time.Minute)
	took := time.Since(began)
	seen.add(fmt.Sprint(flood, " requests pending: no thread is left"), serves("busy: saturated"), took, curlFor(t, s, 2))
	seen.stop(t, s, r, fmt.Sprint(flood, " requests pending, and `kill -STOP`"))

	began = time.Now()
	j.open()
	r.WaitServing(2 * time.Minute)
	j.end()
	r.WaitVerdict("healthy: ok", time.Minute)
	took = time.Since(began)
	lab.WaitFor(t, time.Minute, time.Second, func() error { // a busy machine has work left from the flood
		if said := curl(t, s); !strings.HasPrefix(said, "200") {
			return errors.New("Puppet's own status said " + said)
		}
		return nil
	})
	seen.add("compiles end again, all have been served", "200", took, curl(t, s))
}
