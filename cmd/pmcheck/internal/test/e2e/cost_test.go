//go:build linux

package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// How much of one core, in percent, all probing may cost the JVM and pmcheck.
const (
	maxServerCost = 0.5
	maxAgentCost  = 0.2
)

// testCost measures what probing at default settings costs a server that has warmed up.
// The cost is the difference between two times, so that both have to be long: in a few
// seconds the compilers and the collector of a JVM use more than all probes.
func testCost(t *testing.T, s *lab.PuppetServer, _ *stateTable) {
	if !long() {
		t.Skip("takes twelve minutes; run with PMCHECK_LONG=1")
	}
	const warmup, window = 2 * time.Minute, 5 * time.Minute
	t.Run("warm up", func(t *testing.T) {
		lab.StartSite(t, lab.SiteOptions{
			Server: s,
			YAML:   "probe: {interval: 100ms, timeout: 99ms, fall: 100}\njruby: {interval: 1s}\n",
		})
		lab.Pause(t, warmup)
	})
	idle := percentOfCore(t, window, s.Pid())
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	probes := r.Status().Probe.Count
	both := percentOfCore(t, window, s.Pid(), r.Pid())
	probes = r.Status().Probe.Count - probes

	server, agent := both[0]-idle[0], both[1]
	measured(t, "Puppet Server by itself", fmt.Sprintf("%.2f%% of a core over %v", idle[0], window))
	measured(t, "probing, of Puppet Server", fmt.Sprintf("%.2f%% of a core, %d probes", server, probes))
	measured(t, "probing, of pmcheck", fmt.Sprintf("%.2f%% of a core", agent))
	if server > maxServerCost {
		t.Errorf("probing takes %.2f%% of a core of Puppet Server, want %.1f%% at most", server, maxServerCost)
	}
	if agent > maxAgentCost {
		t.Errorf("probing takes %.2f%% of a core of pmcheck, want %.1f%% at most", agent, maxAgentCost)
	}
}

// percentOfCore returns how much of one core each process uses over a time.
func percentOfCore(t *testing.T, window time.Duration, pids ...int) []float64 {
	t.Helper()
	used := func() (list []float64) {
		for _, pid := range pids {
			list = append(list, lab.CPUTime(t, pid).Seconds())
		}
		return list
	}
	began, before := time.Now(), used()
	lab.Pause(t, window)
	took := time.Since(began).Seconds()
	shares := used()
	for i := range shares {
		shares[i] = (shares[i] - before[i]) / took * 100
	}
	return shares
}
