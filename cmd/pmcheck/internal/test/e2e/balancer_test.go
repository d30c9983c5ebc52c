//go:build linux

package e2e_test

import (
	"os"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// everything reports whether to do what takes minutes, or needs more than make integration
// installs. make test-all sets E2E_ALL.
func everything() bool { return os.Getenv("E2E_ALL") != "" || long() }

// TestPuppetServersBehindBalancers runs two real masters of unequal size behind
// balancers. It takes more than two minutes, so make integration skips it.
func TestPuppetServersBehindBalancers(t *testing.T) {
	lab.Real(t)
	if !everything() {
		t.Skip("takes minutes; run with E2E_ALL=1, as make test-all does")
	}
	large := startSized(t, "large.lab.example", 3)
	small := startSized(t, "small.lab.example", 1)
	lab.Build(t)
	measured(t, "first start of two Puppet Servers", max(large.WaitReady(5*time.Minute), small.WaitReady(5*time.Minute)))
	t.Run("drain --wait", func(t *testing.T) { testDrainWait(t, large) })
	t.Run("weights", func(t *testing.T) { testWeights(t, small, large) })
}

// startSized starts a Puppet Server with the given number of JRubies.
func startSized(t *testing.T, name string, jrubies int) *lab.PuppetServer {
	t.Helper()
	return lab.StartPuppetServer(t, lab.PuppetServerOptions{
		Certname:           name,
		MaxActiveInstances: jrubies,
		HeapMB:             512 + 256*(jrubies-1),
	})
}
