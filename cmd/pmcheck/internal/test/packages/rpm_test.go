//go:build linux

package packages_test

import (
	"strings"
	"testing"
	"time"
)

// TestHoldsSurviveEachStepOfTheRPM installs, upgrades, downgrades and erases the RPM with
// the real rpm program on a Debian host.
func TestHoldsSurviveEachStepOfTheRPM(t *testing.T) {
	s := boot(t, "rpm")
	rpm := func(args ...string) {
		t.Helper()
		s.Host.MustRun("rpm", append([]string{"--nodeps"}, args...)...)
	}
	rpm("--install", "/root/"+older+".rpm")
	s.assertPrints("inactive", "systemctl", "is-active", "pmcheck.service") // on EL, packages do not start their units
	s.Host.MustRun("systemctl", "enable", "--now", "pmcheck.service")
	for _, unit := range []string{"pmcheck.service", "pmcheck.socket", "pmcheck-status.socket",
		"pmcheck-puppet-group.path"} {
		s.assertPrints("active", "systemctl", "is-active", unit)
	}
	s.assertPrints("pmcheck puppet", "id", "-nG", "pmcheck")
	s.Host.MustRun("test", "!", "-e", "/var/lib/pmcheck/holds/.initialized")
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "log:\n  level: debug\n", 0o644)
	s.Host.MustRun("pmcheck", "drain")
	s.waitForAnswer(10*time.Second, "503 drain")

	stop := s.record("503 drain")
	rpm("--upgrade", "/root/"+newer+".rpm")
	rpm("--upgrade", "--oldpackage", "/root/"+older+".rpm")
	rpm("--upgrade", "/root/"+newer+".rpm")
	t.Logf("measured: %d checks across 3 upgrades and downgrades", stop())
	s.assertPrints("log:\n  level: debug", "cat", "/etc/pmcheck/pmcheck.yaml")
	s.Host.MustRun("test", "-e", "/var/lib/pmcheck/holds/.initialized")
	s.assertPrints("pmcheck "+newer, "pmcheck", "version")

	rpm("--erase", "pmcheck")
	if _, got, err := s.Ask("/"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("an erased pmcheck answers %q, %v; want connection refused", got, err)
	}
	s.Host.MustRun("test", "-e", "/var/lib/pmcheck/holds/operator.json")
	s.assertPrints("", "find", "/etc/systemd/system", "-name", "*pmcheck*")
	rpm("--install", "/root/"+newer+".rpm")
	s.Host.MustRun("systemctl", "enable", "--now", "pmcheck.service")
	s.waitForAnswer(10*time.Second, "503 drain")
	lintRPM(t, s)
}
