//go:build linux

package packages_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// startTime is how long Puppet Server may take to start on a busy machine.
const startTime = 4 * time.Minute

// TestGuardReturns restarts Puppet Server behind HAProxy with the graceful lines: the
// guard's hold stays until the master is healthy, so HAProxy never has it DOWN. It alone asks pmcheck: a stop would
// wait for the next request of the test, too.
func TestGuardReturns(t *testing.T) {
	t.Parallel()
	s := boot(t, "master")
	// Debian's unit is active only once the server answers. Without that, as with other
	// units, the server needs a while after it.
	s.Host.WriteFile("/etc/systemd/system/puppetserver.service.d/post.conf", "[Service]\nExecStartPost=\n", 0o644)
	master := s.Host.StartPuppetMaster(lab.PuppetMasterOptions{})
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
frontend agents
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
	s.waitForOutput(10*time.Second, `"others"`, "sh", "-c", "pmcheck status --json | grep -om1 '\"others\"'")

	t.Run("a stop that waits for its turn says so", func(t *testing.T) {
		on := s.with(t)
		haproxy.Admin("disable server puppet/m2")
		on.waitForOutput(10*time.Second, "had no other server", "sh", "-c", alone)
		on.install(newer) // the new daemon knows that a server is missing
		on.Host.MustRun("systemctl", "restart", "--no-block", "puppetserver")
		on.waitForOutput(30*time.Second, "turn", "sh", "-c", guardHold)
		const waits = "Status: .balancer .* has had no other server for"
		on.waitForOutput(30*time.Second, "1", "sh", "-c",
			"systemctl status pmcheck-guard@puppetserver.service | grep -c '"+waits+"'")
		out, _ := on.Host.Run("pmcheck", "status")   // exit status 3: held
		out = strings.Join(strings.Fields(out), " ") // its lines wrap
		if !strings.Contains(out, "drain by guard, leaving") || !strings.Contains(out, "has had no other server for") {
			t.Errorf("status of a master whose stop waits:\n%s", out)
		}
		if got := haproxy.Stat("puppet", "m1").Status; got != "UP" {
			t.Errorf("HAProxy has a master whose stop waits %s", got)
		}
		haproxy.Admin("enable server puppet/m2")
		on.waitForOutput(startTime, "none", "sh", "-c", guardHold)
		haproxy.WaitStatus("puppet", "m1", "UP", startTime)
	})

	t.Run("a restart, and another before the master is healthy, are never DOWN", func(t *testing.T) {
		on := s.with(t)
		on.Host.MustRun("systemctl", "restart", "puppetserver")
		on.assertPrints("activating", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
		on.Host.MustRun("systemctl", "restart", "puppetserver")
		on.assertPrints("firm", "sh", "-c", guardHold)
		on.waitForOutput(startTime, "active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
		on.assertPrints("none", "sh", "-c", guardHold)
		haproxy.WaitStatus("puppet", "m1", "UP", startTime)
		assertNeverDown(t, haproxy)
	})

	t.Run("a stop with a broken configuration is drained first", func(t *testing.T) {
		on := s.with(t)
		on.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "probe: [\n", 0o644)
		on.Host.MustRun("systemctl", "restart", "puppetserver")
		on.waitForOutput(startTime, "none", "sh", "-c", guardHold)
		haproxy.WaitStatus("puppet", "m1", "UP", startTime)
		assertNeverDown(t, haproxy)
		on.Host.MustRun("rm", "/etc/pmcheck/pmcheck.yaml")
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

// guardHold prints what the guard's hold waits for, and alone whether a balancer shows no other server.
const (
	guardHold = `f=/run/pmcheck/holds/guard.json; test -e $f || { echo none; exit; }; ` +
		`sed -n 's/.*"leaving": "\(.*\)".*/\1/p' $f | grep . || echo firm`
	alone = "pmcheck status --json | grep -om1 'had no other server'"
)
