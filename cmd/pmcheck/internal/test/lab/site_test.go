//go:build linux

package lab_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// TestSitesRunInParallel: each site has its own master, holds and balancer.
func TestSitesRunInParallel(t *testing.T) {
	lab.Real(t)
	for _, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := lab.StartSite(t, lab.SiteOptions{})
			s.Balance(`
defaults
    mode tcp
    timeout connect 1s
    timeout client 1m
    timeout server 1m
backend puppet
    option httpchk GET /?drain=404
    http-check disable-on-404
    server m1 MASTER check port LISTEN-PORT inter 50ms fall 2 rise 2
`)
			s.HAProxy.WaitStatus("puppet", "m1", "UP", 10*time.Second)
			s.Hold(drain.Drain)
			s.WaitRefusal("drain", 10*time.Second)
			s.HAProxy.WaitStatus("puppet", "m1", "NOLB", 10*time.Second)
			s.Hold(drain.Ready)
			s.SetMaster(checktest.Stopped)
			s.WaitRefusal("unhealthy: refused", 10*time.Second)
			s.SetMaster(checktest.Running)
			s.WaitServing(10 * time.Second)
		})
	}
}

// TestSitesCanShareHolds: a hold that is set for one site takes effect for the other.
func TestSitesCanShareHolds(t *testing.T) {
	lab.Real(t)
	first := lab.StartSite(t, lab.SiteOptions{})
	second := lab.StartSite(t, lab.SiteOptions{Share: first})
	first.MustRun("drain", "--force")
	for _, s := range []*lab.Site{first, second} {
		s.WaitAnswer(http.StatusServiceUnavailable, "drain", 10*time.Second)
	}
}
