package e2e_test

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	stuck    = "unhealthy: jruby-stuck"
	stuckFor = 8 * time.Second // before pmcheck says so
)

// TestAStuckMasterIsOutUntilAJRubyComesBack: requests that wait give up after borrow-timeout, and the pool looks as it
// does with one long compile. Neither that nor a restart of the daemon brings the master back.
func TestAStuckMasterIsOutUntilAJRubyComesBack(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	// A start fails if the first JRuby takes longer than borrow-timeout.
	s := lab.StartPuppetServer(t, lab.PuppetServerOptions{
		AccessRules: adminRule,
		JRubyConf:   "borrow-timeout: 60000",
	})
	lab.Build(t)
	s.WaitReady(5 * time.Minute)
	s.IssueCert(agentName, nil)
	r := lab.StartSite(t, lab.SiteOptions{
		Server:    s,
		Remembers: true,
		YAML:      fmt.Sprintf("probe: {interval: 2s}\njruby: {stuck_after: %s}\n", stuckFor),
	})

	// One long compile that nobody waits for, and then for less than stuck_after.
	r.WaitVerdict("healthy: ok", time.Minute)
	answers := r.Record(100 * time.Millisecond)
	j := startBlockage(t, s, 1)
	waitForLoan(r, stuckFor+2*time.Second)
	j.queue(1)
	r.WaitVerdict("busy: jruby-busy", stuckFor)
	answers.Stop().AssertOnly("200 " + lab.ServingBody)

	// The request that waits gives up.
	took := r.WaitRefusal(stuck, 2*stuckFor)
	t.Logf("measured: stuck after %s", took)
	answers = r.Record(100 * time.Millisecond)
	waitForEmptyQueue(r)
	watchLoan(r, 10*time.Second)
	t.Logf("measured: nobody waits: %s", lab.Finding(r.Status(), check.CheckJRuby).Detail)

	answers.Stop().AssertOnly("503 " + stuck)

	// The daemon is restarted, and killed.
	r.Stop()
	r.Start()
	wantFirst(r, stuck)
	r.Kill()
	r.Start()
	wantFirst(r, stuck)

	// A flush of the pool waits for the JRuby as well, up to flush-timeout, 20 minutes.
	answers = r.Record(100 * time.Millisecond)
	var flush sync.WaitGroup
	flush.Go(func() { flushPool(t, s) })
	watchLoan(r, 20*time.Second)
	answers.Stop().AssertOnly("503 " + stuck)
	j.open()
	took = r.WaitServing(time.Minute)
	t.Logf("measured: flushed, and 200 %s after the compile ends", took)
	flush.Wait()
	j.end()
	r.WaitVerdict("healthy: ok", time.Minute)

	// A JRuby comes back.
	block := func() *blockage {
		j := startBlockage(t, s, 1)
		j.waitForPool(r, 0)
		j.queue(1)
		r.WaitRefusal(stuck, time.Minute)
		waitForEmptyQueue(r)
		wantFirst(r, stuck)
		return j
	}
	j = block()
	j.open()
	took = r.WaitServing(time.Minute)
	t.Logf("measured: the compile ends, and 200 after %s", took)
	j.end()

	// A reload of Puppet Server waits for the JRuby, too.
	j = block()
	s.Signal(syscall.SIGHUP)
	answers = r.Record(100 * time.Millisecond)
	watchLoan(r, 20*time.Second)
	answers.Stop().AssertOnly("503 " + stuck)
	answers = r.Record(100 * time.Millisecond)
	j.open()
	lab.WaitFor(t, 2*time.Minute, 100*time.Millisecond, func() error {
		if !strings.Contains(answers.Told(), "refused") {
			return fmt.Errorf("the port was not closed: %s", answers)
		}
		return nil
	})
	r.WaitVerdict("healthy: ok", 3*time.Minute)
	t.Logf("measured: reloaded: %s", answers.Stop())
	j.end()
}

// watchLoan waits until the oldest loan has lasted for d longer.
func watchLoan(r *lab.Site, d time.Duration) {
	r.TB.Helper()
	lent := lab.Finding(r.Status(), check.CheckJRuby).Pool.Borrowed
	if len(lent) == 0 {
		r.TB.Fatal("no JRuby is lent")
	}
	waitForLoan(r, time.Duration(lent[0].Seconds*float64(time.Second))+d)
}

// waitForLoan waits until the oldest loan has lasted for so long.
func waitForLoan(r *lab.Site, d time.Duration) {
	r.TB.Helper()
	r.WaitStatus(2*time.Minute, func(s lab.Status) error {
		pool := lab.Finding(s, check.CheckJRuby).Pool
		if pool == nil || len(pool.Borrowed) == 0 || pool.Borrowed[0].Seconds < d.Seconds() {
			return fmt.Errorf("%+v, want a loan of %s", pool, d)
		}
		return nil
	})
}

// waitForEmptyQueue waits until no request waits for a JRuby.
func waitForEmptyQueue(r *lab.Site) {
	r.TB.Helper()
	r.WaitStatus(4*time.Minute, func(s lab.Status) error {
		pool := lab.Finding(s, check.CheckJRuby).Pool
		if pool == nil || len(pool.Waiting) > 0 {
			return fmt.Errorf("%+v, want no request that waits", pool)
		}
		return nil
	})
}

// wantFirst wants this refusal as the first answer of a daemon.
func wantFirst(r *lab.Site, body string) {
	r.TB.Helper()
	lab.WaitFor(r.TB, 20*time.Second, 5*time.Millisecond, func() error {
		code, got, err := r.Ask("/")
		if err == nil && (code != 503 || got != body) {
			r.TB.Fatalf("%d %q, want 503 %q", code, got, body)
		}
		return err
	})
}
