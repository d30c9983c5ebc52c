package packages_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// keepAlive is a server that keeps connections, as Puppet Server does, over IPv4 and IPv6. The kernel completes those
// that it is too busy to accept.
const keepAlive = `from http.server import *
SimpleHTTPRequestHandler.protocol_version = 'HTTP/1.1'
ThreadingHTTPServer.address_family = 10 # AF_INET6
ThreadingHTTPServer.request_queue_size = 1000
ThreadingHTTPServer(('', 8140), SimpleHTTPRequestHandler).serve_forever()
`

// bootFake boots a host with a service that the guard goes with. A reload of it notes the holds in /run/held.
func bootFake(t *testing.T, name, yaml string) *hostSite {
	t.Helper()
	s := boot(t, name)
	s.Host.WriteFile("/usr/local/bin/keep-alive", keepAlive, 0o644)
	s.Host.WriteFile("/etc/systemd/system/fake.service",
		"[Service]\nExecStart=/usr/bin/python3 /usr/local/bin/keep-alive\n"+
			"ExecReload=/bin/sh -c 'ls /run/pmcheck/holds >/run/held'\n", 0o644)
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", yaml, 0o644)
	s.install(older)
	s.Host.MustRun("systemctl", "enable", "pmcheck-guard@fake")
	s.Host.MustRun("systemctl", "start", "fake")
	return s
}

// TestGuardAfterACancelledStop cancels a stop that waits for an agent: nothing may be held
// afterwards, and the next stop must be guarded as well.
func TestGuardAfterACancelledStop(t *testing.T) {
	t.Parallel()
	s := bootFake(t, "cancel", "balancers: ["+lab.BridgeAddress+"]\nguard:\n  wait: 10m\n  return: 1s\n")
	ask := func(url string) { // from outside of the host, all the time
		lab.StartProgram(t, s.Net.Command("curl", "-s", "--rate", "2/s", "--retry", "10", "--retry-connrefused", url))
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
			s.waitForOutput(20*time.Second, "says what it waits for", "sh", "-c",
				"systemctl show -P StatusText pmcheck-guard@fake | grep -q . && echo says what it waits for")
			began := time.Now()
			s.Host.MustRun("sh", "-c", way.end)
			s.waitForOutput(20*time.Second, "0", "sh", "-c", holds)
			t.Logf("measured: the hold was lifted %v after %q", time.Since(began).Round(100*time.Millisecond), way.end)
			s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", "pmcheck-guard@fake")
			s.assertPrints("active", "systemctl", "is-active", "fake")
		})
	}
}

// TestGuardReload reloads a server: it is held meanwhile, only if it runs, and also if it is the last one. Then it
// restarts it.
func TestGuardReload(t *testing.T) {
	t.Parallel()
	s := bootFake(t, "reload", "guard:\n  return: 1s\n") // it is not Puppet Server
	units := []string{"pmcheck-guard@fake", "pmcheck-guard-reload@fake", "pmcheck-guard-reloaded@fake"}
	for _, unit := range units {
		s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", unit)
		s.Host.MustRun("systemd-analyze", "security", "--no-pager", "--threshold=18", unit+".service")
	}
	reload := func(want string) {
		t.Helper()
		s.Host.MustRun("rm", "-f", "/run/held")
		began := time.Now()
		s.Host.Run("systemctl", "reload", "fake")
		t.Logf("measured: a reload took %v", time.Since(began).Round(100*time.Millisecond))
		s.assertPrints(want, "sh", "-c", "cat /run/held 2>/dev/null || echo not reloaded")
		s.waitForOutput(20*time.Second, "", "find", "/run/pmcheck/holds", "-name", "reload.json")
	}
	reload("reload.json")
	// The other way: systemctl reload returns before the hold is lifted, and the next one may come then.
	s.Host.MustRun("systemctl", "reload", "fake")
	reload("reload.json")

	// The hold of a stop stays until the server is healthy, which this one never is; also over the next restart, and
	// if the configuration cannot be read.
	const config = "/etc/pmcheck/pmcheck.yaml"
	for _, yaml := range []string{"guard: {return: 10m}\n", "probe: [\n"} {
		s.Host.WriteFile(config, yaml, 0o644)
		s.Host.MustRun("systemctl", "restart", "fake")
		s.assertPrints("activating", "systemctl", "is-active", "pmcheck-guard@fake")
		s.assertPrints("firm", "sh", "-c",
			"cd /run/pmcheck/holds; test -e guard.json && ! grep -q leaving guard.json && echo firm")
	}
	s.Host.WriteFile(config, "guard: {return: 1s}\n", 0o644)
	s.Host.MustRun("systemctl", "restart", "fake")
	s.waitForOutput(20*time.Second, "", "find", "/run/pmcheck/holds", "-name", "guard.json")

	asks := "curl -s -H 'X-Haproxy-Server-State: UP; address=a; port=1; name=a/m; node=lb; weight=1/1; scur=0/1; qcur=0'"
	s.Host.MustRun("sh", "-c", "for i in 1 2 3; do "+asks+" http://"+s.Host.Address+":9200/; done")
	reload("reload.json")

	s.Host.MustRun("systemctl", "kill", "--signal=KILL", "fake")
	s.waitForOutput(20*time.Second, "failed", "systemctl", "is-active", "fake")
	reload("not reloaded")
	s.Host.MustRun("systemctl", "start", "fake")
	s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", "pmcheck-guard@fake")
	s.Host.MustRun("systemctl", "stop", "pmcheck-guard@fake", "fake") // together: without the wait of the guard
	for _, unit := range units {
		s.waitForOutput(20*time.Second, "inactive", "systemctl", "is-active", unit)
	}
	reload("not reloaded")

	// An interrupted reload may leave its hold to the next start.
	s.Host.MustRun("pmcheck", "drain", "--hold", "reload", "--now", "--force")
	s.Host.MustRun("systemctl", "start", "fake")
	s.waitForOutput(20*time.Second, "", "find", "/var/lib/pmcheck/holds", "-name", "*.json")
}
