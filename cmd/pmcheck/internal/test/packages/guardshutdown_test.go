//go:build linux

package packages_test

import (
	"testing"
	"time"
)

// keepAlive is a server that keeps connections, as Puppet Server does.
const keepAlive = `from http.server import *
SimpleHTTPRequestHandler.protocol_version = 'HTTP/1.1'
ThreadingHTTPServer(('', 8140), SimpleHTTPRequestHandler).serve_forever()
`

// TestGuardAtShutdown shuts a host down while an agent does not leave: the guard waits
// for guard.shutdown, not for guard.wait. The guard goes with any service.
func TestGuardAtShutdown(t *testing.T) {
	t.Parallel()
	s := boot(t, "shutdown")
	s.Host.WriteFile("/usr/local/bin/keep-alive", keepAlive, 0o644)
	s.Host.WriteFile("/etc/systemd/system/fake.service",
		"[Service]\nExecStart=/usr/bin/python3 /usr/local/bin/keep-alive\n", 0o644)
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "guard:\n  shutdown: 5s\n  wait: 1m\n", 0o644)
	s.install(older)
	s.Host.MustRun("systemctl", "enable", "pmcheck-guard@fake")
	s.Host.MustRun("systemctl", "start", "fake")
	s.waitForOutput(10*time.Second, "active", "systemctl", "is-active", "pmcheck-guard@fake")
	// From outside of the host: its shutdown would stop the agent.
	agent := s.Net.Command("curl", "-s", "--rate", "2/s", "--retry", "10", "--retry-connrefused",
		"http://"+s.Host.Address+":8140/?[1-600]")
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		agent.Process.Kill()
		agent.Wait()
	})
	s.waitForOutput(10*time.Second, "1", "sh", "-c", "ss -Htn state established sport = 8140 | wc -l")
	began := time.Now()
	s.Host.Poweroff()
	took := time.Since(began)
	t.Logf("measured: shutdown with an agent that stays: %v", took.Round(100*time.Millisecond))
	if took < 5*time.Second || took > 40*time.Second {
		t.Errorf("with guard.shutdown 5s and guard.wait 1m it took %v", took)
	}
}
