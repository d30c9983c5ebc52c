package faults_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

// A faultSite is a master on a host, pmcheck from its package beside it, a balancer, and
// the table to which its faults are added.
type faultSite struct {
	*lab.Site
	t     *testing.T // of the current fault
	table *table
}

// balancerConfig is like the one in README.md, but checks more often: see patient.
const balancerConfig = `
backend puppet
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    timeout check 1s
    default-server check port 9200 inter 500ms fall 2 rise 2
    server m1 MASTER
`

// patient returns the same site with the intervals of README.md, whose fall 3 outlasts a restart of pmcheck.
func (s *faultSite) patient() *faultSite {
	s.t.Helper()
	other := s.with(s.t)
	other.Balance(strings.Replace(balancerConfig, "inter 500ms fall 2", "inter 2s fall 3", 1))
	return other
}

// reloadGuard is the part of the guard that drains before a reload.
const reloadGuard = "pmcheck-guard-reload@puppetserver.service"

// startSite starts a host with a master and pmcheck, and a balancer. They are removed when
// the test ends. Mounts are shared, as on an ordinary host and unlike other hosts of the lab, so that a running
// service sees file systems that are mounted later.
func startSite(t *testing.T, table *table) *faultSite {
	t.Helper()
	host := lab.StartNetwork(t).Boot("m1")
	master := host.StartPuppetMaster(lab.PuppetMasterOptions{})
	s := &faultSite{Site: lab.NewSite(t, lab.SiteOptions{Puppet: master}), t: t, table: table}
	s.Configure("")
	lab.Output(t, s.Net.Command("ip", "address", "add", clientAddress+"/15", "dev", "lab0"))
	deb := lab.DEB(t, "1.0.0") // while the master starts
	master.WaitReady(5 * time.Minute)
	host.MustRun("mount", "--make-rshared", "/")
	s.Install(deb)
	s.Balance(balancerConfig)
	s.waitForServing()
	t.Cleanup(func() {
		if t.Failed() {
			log, err := s.Host.Run("journalctl", "--no-pager", "--unit=pmcheck") // the host may be down
			t.Logf("pmcheck logged (%v):\n%s", err, log)
		}
	})
	return s
}

func (s *faultSite) state() string { return s.HAProxy.Status("puppet", "m1") }

// waitForServing waits until pmcheck answers 200 and HAProxy shows the master as UP.
func (s *faultSite) waitForServing() {
	s.t.Helper()
	lab.WaitFor(s.t, startTime, 10*time.Millisecond, func() error {
		if answer, state := s.Answer(), s.state(); answer != lab.ServingResponse || state != "UP" {
			return fmt.Errorf("the answer is %q, and the status in HAProxy is %s", answer, state)
		}
		return nil
	})
}
