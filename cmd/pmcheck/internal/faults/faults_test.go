package faults_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/lab"
)

// TestFaults has one site for what happens to the master and one for what happens
// to the host and pmcheck.
func TestFaults(t *testing.T) {
	lab.Real(t)
	var all table
	t.Run("sites", func(t *testing.T) {
		t.Run("master", func(t *testing.T) {
			t.Parallel()
			s := newSite(t, &all, lab.PuppetMasterOptions{}, "")
			for _, f := range jvmFaults() {
				s.suffer(f)
			}
		})
	})
	t.Logf("measured:\n%s", &all)
}
