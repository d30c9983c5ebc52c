//go:build linux

package e2e_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// testQuiet: a healthy master that nobody else asks gets one request for each probe.interval.
func testQuiet(t *testing.T, s *lab.PuppetServer) {
	const window = 30 * time.Second
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	r.WaitVerdict("healthy: ok", time.Minute)
	before := s.Requests()
	lab.Pause(t, window)
	got, want := s.Requests()-before, int(window/(5*time.Second))
	measured(t, "requests in "+window.String(), got)
	if got < want-1 || got > want+1 {
		t.Errorf("%d requests, want %d", got, want)
	}
}
