//go:build linux

package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// testQuiet: a healthy master that nobody else asks gets one request for each probe.interval.
func testQuiet(t *testing.T, s *lab.PuppetServer) {
	window := 20 * time.Second
	switch {
	case long():
		window = 10 * time.Minute
	case everything():
		window = 2 * time.Minute
	}
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	r.WaitVerdict("healthy: ok", time.Minute)
	before := s.Requests("/")
	lab.Pause(t, window)
	got, want := s.Requests("/")-before, int(window/(5*time.Second))
	measured(t, "requests in "+window.String(), got)
	if got < want-1 || got > want+1 {
		t.Errorf("%d requests, want %d", got, want)
	}
}

// testChecksCostNoProbes: however many balancers ask, Puppet Server is probed at the
// configured interval and not more often.
func testChecksCostNoProbes(t *testing.T, s *lab.PuppetServer) {
	const (
		clients  = 50
		each     = 200
		pause    = 50 * time.Millisecond
		interval = 500 * time.Millisecond
	)
	r := lab.StartSite(t, lab.SiteOptions{
		Server: s,
		YAML:   fmt.Sprintf("probe: {interval: %s, timeout: 400ms}\n", interval),
	})
	probes := func() int { return s.Requests("/status/v1/services/jruby-metrics") }

	before, began := probes(), time.Now()
	var bad atomic.Int64
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for i := range each {
				time.Sleep(time.Until(began.Add(time.Duration(i) * pause))) // keeps the pace, however slow the answers are
				if code, _, err := r.Ask("/"); code != http.StatusOK || err != nil {
					bad.Add(1)
				}
			}
		})
	}
	group.Wait()
	took, got := time.Since(began), probes()-before
	// Intervals in which this machine was too busy to probe, plus one for rounding.
	missed := int(lab.Starved(began, time.Now())/interval) + 1

	measured(t, "checks answered per second", int(clients*each/took.Seconds()))
	measured(t, "probes meanwhile", fmt.Sprintf("%d in %.1f s at an interval of %v", got, took.Seconds(), interval))
	// Two more are right: one in the interval that the division cuts off, and one that was due before the
	// start and came late.
	if want := int(took / interval); got < want-missed || got > want+2 {
		t.Errorf("%d probes, want %d to %d", got, want-missed, want+2)
	}
	if n := bad.Load(); n > 0 {
		t.Errorf("%d of %d checks were not answered 200", n, clients*each)
	}
}
