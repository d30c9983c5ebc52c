//go:build linux

package packages_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// startTime is how long Puppet Server may take to start on a busy machine.
const startTime = 4 * time.Minute

// TestGuardReturns restarts Puppet Server behind HAProxy with the graceful lines: the
// guard's hold stays until the master is healthy, so HAProxy never has it DOWN. But for the last part it alone
// asks pmcheck: a stop would wait for the next request of the test, too.
func TestGuardReturns(t *testing.T) {
	t.Parallel()
	s := boot(t, "master")
	// Debian's unit is active only once the server answers. Without that, as with other
	// units, the server needs a while after it.
	s.Host.WriteFile("/etc/systemd/system/puppetserver.service.d/post.conf", "[Service]\nExecStartPost=\n", 0o644)
	master := s.Host.StartPuppetMaster(lab.PuppetMasterOptions{})
	s.Configure("fleet: [master, other]\n")
	s.install(older)
	master.WaitReady(startTime)
	s.waitForOutput(startTime, "200", "curl", "-so/dev/null", "-w%{http_code}", "localhost:9200")

	haproxy := s.Balance(`
defaults
    mode tcp
    timeout connect 5s
    timeout client 30m
    timeout server 30m
    timeout check 10s
frontend puppet
    bind ` + lab.BridgeAddress + `:8140
    default_backend puppet
backend puppet
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    default-server check port 9200 inter 500ms fall 2 rise 1
    server m1 ` + master.Address() + `
    server m2 ` + lab.BridgeAddress + `:9200
frontend m2
    mode http
    bind ` + lab.BridgeAddress + `:9200
    http-request return status 200
`)
	haproxy.WaitStatus("puppet", "m1", "UP", startTime)

	t.Run("a stop that waits for its turn says so", func(t *testing.T) {
		on := s.with(t)
		haproxy.Admin("disable server puppet/m2")
		on.waitForOutput(10*time.Second, "1", "sh", "-c", "pmcheck status --json | grep -c last_server")
		on.Host.MustRun("systemctl", "restart", "--no-block", "puppetserver")
		on.waitForOutput(10*time.Second, "ready", "sh", "-c", guardMode)
		const pending = "puppetserver is about to stop; waits for its turn: balancer"
		out := on.Host.MustRun("pmcheck", "status")
		if !strings.Contains(out, "in service") || !strings.Contains(out, "ready by guard") ||
			!strings.Contains(out, pending) {
			t.Errorf("status of a master whose stop waits:\n%s", out)
		}
		on.assertPrints("1", "sh", "-c",
			`curl -s localhost:9200/metrics | grep -c 'pmcheck_hold_info{holder="guard",mode="ready"'`)
		haproxy.Admin("enable server puppet/m2")
		on.waitForOutput(20*time.Second, "drain", "sh", "-c", guardMode)
		on.waitForOutput(startTime, "none", "sh", "-c", guardMode)
		haproxy.WaitStatus("puppet", "m1", "UP", startTime)
	})

	t.Run("a restart, and another before the master is healthy, are never DOWN", func(t *testing.T) {
		on := s.with(t)
		on.Host.MustRun("systemctl", "restart", "puppetserver")
		on.assertPrints("activating", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
		on.Host.MustRun("systemctl", "restart", "puppetserver")
		on.assertPrints("drain", "sh", "-c", guardMode)
		on.waitForOutput(startTime, "active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
		on.assertPrints("none", "sh", "-c", guardMode)
		haproxy.WaitStatus("puppet", "m1", "UP", startTime)
		assertNeverDown(t, haproxy)
	})

	t.Run("a server that does not become healthy", func(t *testing.T) {
		on := s.with(t)
		on.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "guard:\n  return: 3s\n", 0o644)
		on.Host.MustRun("systemctl", "restart", "puppetserver")
		on.waitForOutput(10*time.Second, "active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
		on.assertPrints("none", "sh", "-c", guardMode)
		if out, err := on.Host.Run("pmcheck", "status"); err == nil {
			t.Errorf("status of a master that is not healthy:\n%s", out)
		}
		haproxy.WaitStatus("puppet", "m1", "UP", startTime)
	})

	t.Run("the last server is not drained", func(t *testing.T) {
		on := s.with(t)
		on.Configure("fleet: [master, other]\nguard: {turn: 5s}\n")
		haproxy.Admin("disable server puppet/m2")
		on.waitForOutput(10*time.Second, "1", "sh", "-c", "pmcheck status --json | grep -c last_server")
		told := on.Record(20 * time.Millisecond)
		port := lab.StartRecord(t, 20*time.Millisecond, func() string {
			code, body, err := master.Status()
			if err != nil {
				return lab.NoAnswer
			}
			return fmt.Sprint(code, " ", body)
		})
		on.Host.MustRun("systemctl", "restart", "puppetserver")
		haproxy.WaitStatus("puppet", "m1", "DOWN", 30*time.Second)
		haproxy.WaitStatus("puppet", "m1", "UP", startTime)
		outage, closed := told.Stop().Outage(), port.Stop().Outage()
		t.Logf("measured: restart of the last server: port closed for %v, balancers told otherwise than 200 for %v",
			closed.Round(time.Second/10), outage.Round(time.Second/10))
		if strings.Contains(told.Told(), "drain") {
			t.Errorf("the last server was drained: %s", told)
		}
		if outage > closed+15*time.Second { // until all JRubies are ready
			t.Errorf("the outage took %v, of which the port was closed for %v", outage, closed)
		}
		const says = "not drained, serves until it stops: balancer"
		if journal := on.Host.Journal("pmcheck-guard@puppetserver.service"); !strings.Contains(journal, says) {
			t.Errorf("the guard does not say %q:\n%s", says, journal)
		}
		haproxy.Admin("enable server puppet/m2")
		haproxy.WaitStatus("puppet", "m2", "UP", 10*time.Second)
	})
}

// assertNeverDown fails the test if HAProxy has had the master DOWN.
func assertNeverDown(t *testing.T, h *lab.HAProxy) {
	t.Helper()
	for line := range strings.Lines(h.Log()) {
		if strings.Contains(line, "puppet/m1 is DOWN") {
			t.Errorf("HAProxy: %s", line)
		}
	}
}

// guardMode prints the mode of the guard's hold.
const guardMode = `sed -n 's/.*"mode": "\(.*\)".*/\1/p' /run/pmcheck/holds/guard.json 2>/dev/null | grep . || echo none`
