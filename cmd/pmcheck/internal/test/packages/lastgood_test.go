//go:build linux

package packages_test

import (
	"strings"
	"testing"
	"time"
)

// TestABadConfigurationIsRejectedAndTheLastGoodOneUsed reloads, restarts, stops and starts
// the service with a mistake in pmcheck.yaml.
func TestABadConfigurationIsRejectedAndTheLastGoodOneUsed(t *testing.T) {
	t.Parallel()
	s := boot(t, "mistake")
	s.install(older)
	s.waitForOutput(10*time.Second, "active", "systemctl", "is-active", "pmcheck.service")
	s.assertPrints("700 pmcheck pmcheck", "stat", "-c", "%a %U %G", "/run/pmcheck-daemon")
	pid := s.Host.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service")
	s.Host.MustRun("systemctl", "reload", "pmcheck")

	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "lisen: :9200\n", 0o644)
	if out, err := s.Host.Run("systemctl", "reload", "pmcheck"); err == nil {
		t.Errorf("a reload with a mistake succeeds: %s", out)
	}
	if journal := s.Host.Journal("pmcheck.service"); !strings.Contains(journal, "unknown setting lisen") {
		t.Errorf("the mistake is not in the journal:\n%s", journal)
	}
	s.assertPrints(pid, "systemctl", "show", "-P", "MainPID", "pmcheck.service")
	s.assertPrints("active", "systemctl", "is-active", "pmcheck.service")
	reloaded := func(value string) {
		t.Helper()
		s.waitForOutput(5*time.Second, "pmcheck_config_last_reload_successful "+value, "sh", "-c",
			"curl -s localhost:9200/metrics | grep ^pmcheck_config_last_reload_successful")
	}
	reloaded("0")
	status, _ := s.Host.Run("pmcheck", "status") // without Puppet Server it fails
	if !strings.Contains(status, "unknown setting lisen") {
		t.Errorf("the status does not say that the configuration was not reloaded:\n%s", status)
	}
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "listen: :9200\n", 0o644)
	s.Host.MustRun("systemctl", "reload", "pmcheck")
	reloaded("1")
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "lisen: :9200\n", 0o644)

	s.Host.MustRun("systemctl", "restart", "pmcheck")
	s.assertPrints("active", "systemctl", "is-active", "pmcheck.service")
	reloaded("0")

	s.Host.MustRun("systemctl", "stop", "pmcheck")
	if out, err := s.Host.Run("systemctl", "start", "pmcheck"); err == nil {
		t.Errorf("a start with a mistake and without a last good configuration succeeds: %s", out)
	}
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "listen: :9200\n", 0o644)
	s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", "pmcheck.service")
}
