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

// haproxyConfig has the health check that README.md recommends, with a shorter interval, and
// a backend that has the agent-check too. The other server has no check, so it is always UP.
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
backend agent
    option httpchk GET /?drain=200&maint=200
    default-server inter 200ms fall 2 rise 1
    server m1 MASTER check port LISTEN-PORT agent-check agent-port AGENT-PORT agent-inter 200ms
    server m2 127.0.0.10:8140
`

// A step is what an operator or the master does, and the master's status in HAProxy after it.
type step struct {
	does   string
	args   []string        // of pmcheck
	master checktest.State // if there are no args
	puppet string          // the status in the backend with the health check
	agent  string          // the status in the backend with the agent-check
}

func steps() []step {
	return []step{
		{does: "`drain --wait`", args: []string{"drain", "--wait"}, puppet: "NOLB", agent: "DRAIN (agent)"},
		{does: "`ready`", args: []string{"ready"}, puppet: "UP", agent: "UP"},
		{does: "`maint`", args: []string{"maint"}, puppet: "DOWN", agent: "MAINT"},
		{does: "`ready --wait`", args: []string{"ready", "--wait"}, puppet: "UP", agent: "UP"},
		{does: "Puppet Server stops", master: checktest.Stopped, puppet: "DOWN", agent: "DOWN (agent)"},
		{does: "Puppet Server starts", master: checktest.Running, puppet: "UP", agent: "UP"},
	}
}

// TestHAProxyOfEachRelease goes through the steps with the HAProxy of each release, in front
// of a stand-in for Puppet Server.
func TestHAProxyOfEachRelease(t *testing.T) {
	lab.Real(t)
	const yaml = "probe: {interval: 1s, timeout: 900ms}\nagent: {listen: 'AGENT'}\n"
	results := &table{cells: map[[2]string]string{}}
	for _, release := range lab.Releases() {
		t.Run(release.Suite, func(t *testing.T) {
			site := lab.StartSite(t, lab.SiteOptions{YAML: yaml})
			root := release.StartChroot(t)
			note := func(row, cell string) { results.note(row, release.Suite, cell) }
			note("HAProxy", version(root, "haproxy -v"))
			site.HAProxy = root.StartHAProxy(strings.ReplaceAll(site.Expand(haproxyConfig), "SUITE", release.Suite))
			assertStatus(site, release.Suite, "UP", "UP")
			for _, s := range steps() {
				if s.args != nil {
					site.MustRun(s.args...)
				} else {
					site.SetMaster(s.master)
				}
				assertStatus(site, release.Suite, s.puppet, s.agent)
				note(s.does, s.puppet+"; with the agent-check "+s.agent)
			}
			note("`X-Haproxy-Server-State`", "understood")
		})
	}
	finish(t, "versions-haproxy", results)
}

// assertStatus waits until HAProxy shows the master with these statuses in the two backends,
// and pmcheck has read the first one from the header of HAProxy's checks.
func assertStatus(site *lab.Site, node, puppet, agent string) {
	site.TB.Helper()
	site.HAProxy.WaitStatus("puppet", "m1", puppet, slow)
	site.HAProxy.WaitStatus("agent", "m1", agent, slow)
	site.WaitBalancer(func(b lab.Balancer) bool {
		return b.Node == node && b.Name == "puppet/m1" && b.View != nil && b.View.String() == puppet
	}, slow)
}
