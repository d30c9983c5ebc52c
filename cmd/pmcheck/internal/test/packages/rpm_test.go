package packages_test

import (
	"strings"
	"testing"
	"time"
)

// TestRPM takes the RPM through its life, with a real rpm on a host that is
// otherwise Debian.
func TestRPM(t *testing.T) {
	r := boot(t, "rpm")
	rpm := func(args ...string) {
		t.Helper()
		r.MustRun("rpm", append([]string{"--nodeps"}, args...)...)
	}
	rpm("--install", "/root/"+older+".rpm")
	r.want("inactive", "systemctl", "is-active", "pmcheck.service") // as is the custom
	r.MustRun("systemctl", "enable", "--now", "pmcheck.service")
	for _, unit := range []string{"pmcheck.service", "pmcheck.socket", "pmcheck-status.socket", "pmcheck-puppet-group.path"} {
		r.want("active", "systemctl", "is-active", unit)
	}
	r.want("pmcheck puppet", "id", "-nG", "pmcheck")
	r.MustRun("test", "!", "-e", "/var/lib/pmcheck/holds/.initialized")
	r.WriteFile("/etc/pmcheck/pmcheck.yaml", "log:\n  level: debug\n", 0o644)
	r.MustRun("pmcheck", "drain")
	r.awaitAnswer(10*time.Second, "503 drain")

	stop := r.checker("503 drain")
	rpm("--upgrade", "/root/"+newer+".rpm")
	rpm("--upgrade", "--oldpackage", "/root/"+older+".rpm")
	rpm("--upgrade", "/root/"+newer+".rpm")
	t.Logf("measured: %d checks across 3 upgrades and downgrades", stop())
	r.want("log:\n  level: debug", "cat", "/etc/pmcheck/pmcheck.yaml")
	r.MustRun("test", "-e", "/var/lib/pmcheck/holds/.initialized")
	r.want("pmcheck "+newer, "pmcheck", "version")

	rpm("--erase", "pmcheck")
	if got, err := r.ask("/"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("erased: %q, %v", got, err)
	}
	r.MustRun("test", "-e", "/var/lib/pmcheck/holds/operator.json")
	r.want("", "find", "/etc/systemd/system", "-name", "*pmcheck*")
	rpm("--install", "/root/"+newer+".rpm")
	r.MustRun("systemctl", "enable", "--now", "pmcheck.service")
	r.awaitAnswer(10*time.Second, "503 drain")
	lintRPM(t, r)
}
