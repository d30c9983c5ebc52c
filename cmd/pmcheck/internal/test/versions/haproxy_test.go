//go:build linux

package versions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// slow bounds what takes seconds on an idle machine.
const slow = time.Minute

// haproxyConfig has the health check that README.md recommends, with a shorter interval.
// The other server has no check, so it is always UP.
const haproxyConfig = `
global
    node SUITE
defaults
    mode tcp
    timeout connect 5s
    timeout client 30m
    timeout server 30m
listen puppet
    bind 127.0.0.9:8140
    balance leastconn
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    default-server inter 200ms fall 2 rise 1
    server m1 MASTER check port LISTEN-PORT
    server m2 127.0.0.10:8140
`

// A step is what an operator or the master does, and the master's status in HAProxy after it.
type step struct {
	does   string
	args   []string        // of pmcheck
	master checktest.State // if there are no args
	status string          // in HAProxy
}

func steps() []step {
	return []step{
		{does: "`drain --wait`", args: []string{"drain", "--wait"}, status: "NOLB"},
		{does: "`ready`", args: []string{"ready"}, status: "UP"},
		{does: "`maint`", args: []string{"maint"}, status: "DOWN"},
		{does: "`ready --wait`", args: []string{"ready", "--wait"}, status: "UP"},
		{does: "Puppet Server stops", master: checktest.Stopped, status: "DOWN"},
		{does: "Puppet Server starts", master: checktest.Running, status: "UP"},
	}
}

// TestHAProxyOfEachRelease goes through the steps with the HAProxy of each release, in front
// of a stand-in for Puppet Server.
func TestHAProxyOfEachRelease(t *testing.T) {
	lab.Real(t)
	const yaml = "probe: {interval: 1s, timeout: 900ms}\n"
	results := &table{cells: map[[2]string]string{}}
	for _, release := range lab.Releases() {
		t.Run(release.Suite, func(t *testing.T) {
			site := lab.StartSite(t, lab.SiteOptions{YAML: yaml})
			root := release.StartChroot(t)
			note := func(row, cell string) { results.note(row, release.Suite, cell) }
			note("HAProxy", version(root, "haproxy -v"))
			site.HAProxy = root.StartHAProxy(strings.ReplaceAll(site.Expand(haproxyConfig), "SUITE", release.Suite))
			assertStatus(site, release.Suite, "UP")
			for _, s := range steps() {
				if s.args != nil {
					site.MustRun(s.args...)
				} else {
					site.SetMaster(s.master)
				}
				assertStatus(site, release.Suite, s.status)
				note(s.does, s.status)
			}
			note("`X-Haproxy-Server-State`", "understood")
		})
	}
	finish(t, results)
}

// assertStatus waits until HAProxy shows the master with this status, and pmcheck has read
// it from the header of HAProxy's checks.
func assertStatus(site *lab.Site, node, status string) {
	site.TB.Helper()
	site.HAProxy.WaitStatus("puppet", "m1", status, slow)
	site.WaitBalancer(func(b lab.Balancer) bool {
		return b.Node == node && b.Name == "puppet/m1" && b.View != nil && b.View.String() == status
	}, slow)
}
