package faults_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestFaults injects one fault after the other into one master.
func TestFaults(t *testing.T) {
	lab.Real(t)
	var all table
	s := startSite(t, &all)
	s.run("JVM", jvmFaults())
	s.run("Certificates", certificateFaults())
	s.run("puppet.conf", identityFaults())
	s.run("Puppet", puppetFaults())
	s.run("host", hostFaults())
	s.run("pmcheck", pmcheckFaults())
	s.patient().run("pmcheck", killFaults())
	lab.Publish(t, "faults", all.String())
	t.Logf("measured:\n%s", &all)
}
