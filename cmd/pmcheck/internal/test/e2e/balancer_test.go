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

// TestPuppetServerBehindBalancers runs a real master behind balancers. It takes more than
// two minutes, so make integration skips it.
func TestPuppetServerBehindBalancers(t *testing.T) {
	lab.Real(t)
	if !everything() {
		t.Skip("takes minutes; run with E2E_ALL=1, as make test-all does")
	}
	master := lab.StartPuppetServer(t, lab.PuppetServerOptions{
		Certname:           "large.lab.example",
		MaxActiveInstances: 3,
		HeapMB:             1024,
	})
	lab.Build(t)
	measured(t, "first start of a Puppet Server", master.WaitReady(5*time.Minute))
	t.Run("drain --wait", func(t *testing.T) { testDrainWait(t, master) })
}
