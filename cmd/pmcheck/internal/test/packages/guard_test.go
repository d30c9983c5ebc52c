//go:build linux

package packages_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	balancerName = "puppet.lab.example"
	catalogTime  = 15 * time.Second
	// A busy machine takes more than a minute to load an agent's facts.
	agentTime = 5 * time.Minute
)

// TestGuard: Puppet Server is stopped in each of the usual ways, without a drain,
// while an agent waits for its catalog behind HAProxy. The other server has no catalogs:
// the one that is about to stop has to finish the run. HAProxy alone asks pmcheck: a stop would wait for the
// next request of the test, too.
func TestGuard(t *testing.T) {
	t.Parallel()
	s := boot(t, "master")
	master := s.Host.StartPuppetMaster(lab.PuppetMasterOptions{AltNames: []string{balancerName}})
	client := s.Net.Boot("agent")
	client.MustRun("sh", "-c", "echo '"+lab.BridgeAddress+" "+balancerName+"' >>/etc/hosts")
	client.WriteFile("/etc/puppet/puppet.conf", "[main]\nserver = "+balancerName+"\nca_server = "+master.Certname()+
		"\ncertname = agent.lab.example\n", 0o644)
	client.MustRun("sh", "-c", "find /var/lib/puppet/ssl -mindepth 1 -delete")
	s.install(older)
	master.WaitReady(10 * time.Minute)
	haproxy := s.Balance(`
defaults
    mode tcp
    timeout connect 5s
    timeout client 30m
    timeout server 30m
frontend puppet
    bind ` + lab.BridgeAddress + `:8140
    default_backend puppet
backend puppet
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    default-server check port 9200 inter 500ms fall 2 rise 1
    use-server m1 if TRUE
    server m1 MASTER
    server m2 ` + lab.BridgeAddress + `:9200
frontend m2
    mode http
    bind ` + lab.BridgeAddress + `:9200
    http-request return status 200
`)
	haproxy.WaitStatus("puppet", "m1", "UP", time.Minute)
	run(t, client) // brings plugins and facts
	master.SetSitePP(fmt.Sprintf(`$slow = generate("/bin/sleep", "%d")`, int(catalogTime.Seconds())))
	// To stop a guard for its own sake is not to stop its server.
	s.Host.MustRun("systemctl", "stop", "pmcheck-guard@puppetserver.service")
	s.assertPrints("", "find", "/run/pmcheck/holds", "-name", "*.json")
	s.Host.MustRun("systemctl", "start", "pmcheck-guard@puppetserver.service")
	for _, way := range []struct {
		name string
		stop func()
		down string // its status in HAProxy while it is down; empty if it comes back by itself
	}{
		{"stop", func() { s.Host.MustRun("systemctl", "stop", "puppetserver") }, "NOLB"},
		{"reinstall", func() { s.Host.MustRun("dpkg-reconfigure", "puppetserver") }, ""},
		{"reboot", func() {
			s.Host.MustRun("systemctl", "disable", "puppetserver") // what it costs to boot is known
			s.Host.Reboot()
		}, "DOWN"},
	} {
		t.Run(way.name, func(t *testing.T) {
			const catalog = "pmcheck status --json | grep -om1 v3/catalog || echo idle"
			s.waitForOutput(agentTime, "idle", "sh", "-c", catalog)
			done := make(chan error, 1)
			go func() { done <- try(client) }()
			s.waitForOutput(agentTime, "v3/catalog", "sh", "-c", catalog)
			began := time.Now()
			way.stop()
			took := time.Since(began)
			if err := <-done; err != nil {
				t.Error(err)
			}
			t.Logf("measured: %s with a catalog of %v under way: %v", way.name, catalogTime, took.Round(100*time.Millisecond))
			if way.down != "" {
				haproxy.WaitStatus("puppet", "m1", way.down, 10*time.Second)
			}
			if way.name == "reboot" {
				return // nothing comes after it
			}
			s.Host.MustRun("systemctl", "start", "puppetserver")
			s.waitForOutput(2*time.Minute, "active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
			haproxy.WaitStatus("puppet", "m1", "UP", 2*time.Minute)
		})
	}
	for _, event := range []string{"set", "changed", "lifted"} { // leaving, firm, gone
		leaving := map[string]string{"set": "leaving=turn "}[event]
		s.WaitLog(`msg="hold `+event+`" hold=guard service="" mode=drain `+leaving+
			`owner=root reason="puppetserver is about to stop"`, 10*time.Second)
	}
}

// run runs the agent, which must succeed.
func run(t *testing.T, client *lab.Host) {
	t.Helper()
	if err := try(client); err != nil {
		t.Fatal(err)
	}
}

// try runs the agent. It may change things, and must fail at nothing.
func try(client *lab.Host) error {
	out, err := client.Run("sh", "-c", "puppet agent --test --color=false --no-usecacheonfailure || test $? = 2")
	if err == nil && strings.Contains(out, "Error:") {
		err = fmt.Errorf("the run has errors: %s", out)
	}
	return err
}
