package e2e_test

import (
	"net"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestPuppetServer takes one Puppet Server through everything that happens to
// one: a start costs a quarter of a minute. The subtests leave it fit.
func TestPuppetServer(t *testing.T) {
	lab.Real(t)
	address := lab.FreeAddress(t, "127.0.0.1")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	s := lab.StartPuppetServer(t, lab.PuppetServerOptions{
		Address:  address,
		Settings: map[string]string{"serverport": port},
	})
	lab.Build(t)
	measured(t, "first start of Puppet Server", s.WaitReady(2*time.Minute))

	for _, test := range []struct {
		name string
		run  func(*testing.T, *lab.PuppetServer)
	}{
		{"the stand-in answers alike", testStandIn},
		{"zero configuration", testZeroConfiguration},
		{"checks cost no probes", testChecksCostNoProbes},
		{"drained", testDrained},
		{"killed", testKilled},
		{"stopped", testStopped},
		{"expired CRL", testExpiredCRL},
		{"own certificate", testOwnCertificate},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.run(t, s) }) {
			return // the next one would meet a server in an unknown state
		}
	}
}
