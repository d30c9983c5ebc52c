//go:build linux

package faults_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestFaults uses one site for the faults of the master, and one for those of the host, of
// pmcheck and of its clients.
func TestFaults(t *testing.T) {
	lab.Real(t)
	var all table
	t.Run("sites", func(t *testing.T) {
		t.Run("master", func(t *testing.T) {
			t.Parallel()
			s := startSite(t, &all, lab.PuppetMasterOptions{}, "")
			for _, faults := range [][]fault{jvmFaults(), certificateFaults(), puppetFaults()} {
				for _, f := range faults {
					s.run(f)
				}
			}
		})
		t.Run("host", func(t *testing.T) {
			t.Parallel()
			startHostSite(t, &all).runHostFaults()
		})
	})
	lab.Publish(t, "faults", all.String())
	t.Logf("measured:\n%s", &all)
}
