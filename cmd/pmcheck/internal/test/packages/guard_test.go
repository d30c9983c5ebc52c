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
	catalogTime  = 10 * time.Second
)

// TestGuard has somebody stop Puppet Server who knows nothing of pmcheck, in each
// of the usual ways, while an agent waits for its catalog behind HAProxy. There is
// no other server that could help: what is left of the run has to be done by the
// one that is about to stop.
func TestGuard(t *testing.T) {
	r := boot(t, "master")
	master := r.StartPuppetMaster(lab.PuppetMasterOptions{AltNames: []string{balancerName}})
	client := r.net.Boot("agent")
	client.MustRun("sh", "-c", "echo '"+lab.BridgeAddress+" "+balancerName+"' >>/etc/hosts")
	client.WriteFile("/etc/puppet/puppet.conf", "[main]\nserver = "+balancerName+"\nca_server = "+master.Certname()+
		"\ncertname = agent.lab.example\n", 0o644)
	client.MustRun("sh", "-c", "find /var/lib/puppet/ssl -mindepth 1 -delete")
	r.install(older)
	master.WaitReady(2 * time.Minute)
	haproxy := r.net.StartHAProxy(t, `
defaults
    mode tcp
    timeout connect 5s
    timeout client 30m
    timeout server 30m
frontend puppet
    bind `+lab.BridgeAddress+`:8140
    default_backend puppet
backend puppet
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    default-server check port 9200 inter 500ms fall 2 rise 1
    server m1 `+master.Address()+`
`)
	haproxy.WaitStatus("puppet", "m1", "UP", time.Minute)
	run(t, client) // brings plugins and facts
	master.SetSitePP(fmt.Sprintf(`$slow = generate("/bin/sleep", "%d")`, int(catalogTime.Seconds())))
	// To stop a guard for its own sake is not to stop its server.
	r.MustRun("systemctl", "stop", "pmcheck-guard@puppetserver.service")
	r.want("", "find", "/run/pmcheck/holds", "-name", "*.json")
	r.MustRun("systemctl", "start", "pmcheck-guard@puppetserver.service")
	for _, way := range []struct {
		name string
		stop func()
		down string // the answer while it is down; empty if it comes back by itself
	}{
		{"restart", func() { r.MustRun("systemctl", "restart", "puppetserver") }, ""},
		{"stop", func() { r.MustRun("systemctl", "stop", "puppetserver") }, "503 drain"},
		{"reinstall", func() { r.MustRun("dpkg-reconfigure", "puppetserver") }, ""},
		{"reboot", func() {
			r.MustRun("systemctl", "disable", "puppetserver") // what it costs to boot is known
			r.Reboot()
		}, "503 unhealthy: refused"},
	} {
		t.Run(way.name, func(t *testing.T) {
			const catalog = "pmcheck status --json | grep -om1 v3/catalog || echo idle"
			r.await(time.Minute, "idle", "sh", "-c", catalog)
			done := make(chan error, 1)
			go func() { done <- try(client) }()
			r.await(time.Minute, "v3/catalog", "sh", "-c", catalog)
			began := time.Now()
			way.stop()
			took := time.Since(began)
			if err := <-done; err != nil {
				t.Error(err)
			}
			t.Logf("measured: %s with a catalog of %v under way: %v", way.name, catalogTime, took.Round(100*time.Millisecond))
			if way.down != "" {
				r.awaitAnswer(10*time.Second, way.down)
			}
			if way.name == "reboot" {
				return // nothing comes after it
			}
			r.MustRun("systemctl", "start", "puppetserver")
			r.await(time.Minute, "active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
			r.awaitAnswer(time.Minute, serving)
			haproxy.WaitStatus("puppet", "m1", "UP", time.Minute)
		})
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
