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
	measured(t, "first start of Puppet Server", s.WaitReady(2*time.Minute))

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
