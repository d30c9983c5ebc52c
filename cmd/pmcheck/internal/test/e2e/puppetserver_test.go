//go:build linux

package e2e_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestPuppetServer uses one Puppet Server for all subtests, since a start takes a
// quarter of a minute. Each leaves it healthy.
func TestPuppetServer(t *testing.T) {
	lab.Real(t)
	s := lab.StartPuppetServer(t, lab.PuppetServerOptions{})
	lab.Build(t)
	s.WaitReady(2 * time.Minute)

	for _, test := range []struct {
		name string
		run  func(*testing.T, *lab.PuppetServer)
	}{
		{"quiet", testQuiet},
		{"drained", testDrained},
		{"killed", testKilled},
		{"paused", testPaused},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, s) }) {
			return // the next one would meet a server in an unknown state
		}
	}
}

// testQuiet: a healthy master that nobody else asks gets one request for each probe.interval.
func testQuiet(t *testing.T, s *lab.PuppetServer) {
	const window = 30 * time.Second
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	r.WaitVerdict("healthy: ok", time.Minute)
	before := s.Requests()
	lab.Pause(t, window)
	got, want := s.Requests()-before, int(window/(5*time.Second))
	if got < want-1 || got > want+1 {
		t.Errorf("%d requests, want %d", got, want)
	}
}
