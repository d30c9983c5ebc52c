package packages_test

import (
	"strings"
	"testing"
	"time"
)

// TestMistakeInTheConfiguration reloads, restarts and stops the service with a
// mistake in pmcheck.yaml.
func TestMistakeInTheConfiguration(t *testing.T) {
	r := boot(t, "mistake")
	r.install(older)
	r.await(10*time.Second, "active", "systemctl", "is-active", "pmcheck.service")
	r.want("700 pmcheck pmcheck", "stat", "-c", "%a %U %G", "/run/pmcheck-daemon")
	pid := r.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service")
	r.MustRun("systemctl", "reload", "pmcheck")

	r.WriteFile("/etc/pmcheck/pmcheck.yaml", "lisen: :9200\n", 0o644)
	if out, err := r.Run("systemctl", "reload", "pmcheck"); err == nil {
		t.Errorf("a reload with a mistake succeeds: %s", out)
	}
	if journal := r.Journal("pmcheck.service"); !strings.Contains(journal, "unknown setting lisen") {
		t.Errorf("the mistake is not in the journal:\n%s", journal)
	}
	r.want(pid, "systemctl", "show", "-P", "MainPID", "pmcheck.service")

	r.MustRun("systemctl", "restart", "pmcheck")
	r.want("active", "systemctl", "is-active", "pmcheck.service")
	r.want("pmcheck_config_reload_successful 0", "sh", "-c",
		"curl -s localhost:9200/metrics | grep ^pmcheck_config_reload_successful")

	r.MustRun("systemctl", "stop", "pmcheck")
	if out, err := r.Run("systemctl", "start", "pmcheck"); err == nil {
		t.Errorf("a start with a mistake and no last configuration succeeds: %s", out)
	}
	r.WriteFile("/etc/pmcheck/pmcheck.yaml", "listen: :9200\n", 0o644)
	r.await(20*time.Second, "active", "systemctl", "is-active", "pmcheck.service")
}
