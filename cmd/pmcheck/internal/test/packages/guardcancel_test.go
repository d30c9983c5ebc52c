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

// TestGuardAfterACancelledStop cancels a stop that waits for an agent: nothing may be held
// afterwards, and the next stop must be guarded as well.
func TestGuardAfterACancelledStop(t *testing.T) {
	t.Parallel()
	s := boot(t, "cancel")
	s.Host.WriteFile("/usr/local/bin/keep-alive", keepAlive, 0o644)
	s.Host.WriteFile("/etc/systemd/system/fake.service",
		"[Service]\nExecStart=/usr/bin/python3 /usr/local/bin/keep-alive\n", 0o644)
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "guard:\n  wait: 10m\n  return: 1s\n", 0o644)
	s.install(older)
	s.Host.MustRun("systemctl", "enable", "pmcheck-guard@fake")
	s.Host.MustRun("systemctl", "start", "fake")
	ask := func(url string) { // from outside of the host, all the time
		cmd := s.Net.Command("curl", "-s", "--rate", "2/s", "--retry", "10", "--retry-connrefused", url)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
	ask("http://" + s.Host.Address + ":8140/?[1-3000]") // an agent that stays
	ask("http://" + s.Host.Address + ":9200/#[1-3000]") // a balancer
	s.waitForOutput(20*time.Second, "1", "sh", "-c", "ss -Htn state established sport = 8140 | wc -l")
	const holds = "find /run/pmcheck/holds -name '*.json' | wc -l"
	for _, way := range []struct{ name, stop, end string }{
		{"cancel all jobs", "systemctl --no-block stop fake", "systemctl cancel"},
		{"cancel the restart", "systemctl --no-block restart fake",
			"systemctl cancel $(systemctl list-jobs | awk '$2 == \"fake.service\" {print $1}')"},
		{"start", "systemctl --no-block stop fake", "systemctl start fake"},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := s.with(t)
			s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", "pmcheck-guard@fake")
			s.Host.MustRun("sh", "-c", way.stop)
			s.waitForOutput(20*time.Second, "1", "sh", "-c", holds)
			began := time.Now()
			s.Host.MustRun("sh", "-c", way.end)
			s.waitForOutput(20*time.Second, "0", "sh", "-c", holds)
			t.Logf("measured: the hold was lifted %v after %q", time.Since(began).Round(100*time.Millisecond), way.end)
			s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", "pmcheck-guard@fake")
			s.assertPrints("active", "systemctl", "is-active", "fake")
		})
	}
}
