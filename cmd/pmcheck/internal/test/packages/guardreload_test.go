//go:build linux

package packages_test

import (
	"testing"
	"time"
)

// TestGuardReload reloads a server: it is held meanwhile, and only if it runs and is not the last one.
func TestGuardReload(t *testing.T) {
	t.Parallel()
	s := boot(t, "reload")
	s.Host.WriteFile("/usr/local/bin/keep-alive", keepAlive, 0o644)
	s.Host.WriteFile("/etc/systemd/system/fake.service",
		"[Service]\nExecStart=/usr/bin/python3 /usr/local/bin/keep-alive\n"+
			"ExecReload=/bin/sh -c 'ls /run/pmcheck/holds >/run/held'\n", 0o644)
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "guard:\n  return: 1s\n", 0o644) // it is not Puppet Server
	s.install(older)
	s.Host.MustRun("systemctl", "enable", "pmcheck-guard@fake")
	s.Host.MustRun("systemctl", "start", "fake")
	units := []string{"pmcheck-guard@fake", "pmcheck-guard-reload@fake", "pmcheck-guard-reloaded@fake"}
	for _, unit := range units {
		s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", unit)
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

	asks := "curl -s -H 'X-Haproxy-Server-State: UP; address=a; port=1; name=a/m; node=lb; weight=1/1; scur=0/1; qcur=0'"
	s.Host.MustRun("sh", "-c", "for i in 1 2 3; do "+asks+" http://"+s.Host.Address+":9200/; done")
	reload("")

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
