//go:build linux

package module_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// testMigrate runs the script that moves the port from xinetd to pmcheck. The balancer must
// never have the master DOWN, neither on success nor when pmcheck fails before or after it
// has the port.
func testMigrate(t *testing.T, s *lab.Site) {
	s.Host.Copy(lab.File(t, "examples/migrate-from-xinetd/migrate.sh"), "/root/migrate.sh", 0o755)
	s.Host.MustRun("systemctl", append([]string{"mask"}, migratedUnits()...)...)
	s.Host.MustRun("apt-get", "install", "-y", "-q", debFile) // while its port is taken
	assertUnits(t, s, "masked")
	old := s.Host.MustRun("cat", lab.AncestorFile)
	const config, dropin = "/etc/pmcheck/pmcheck.yaml", "/etc/systemd/system/pmcheck.service.d/broken.conf"
	for _, step := range []struct {
		name, file, content string
		ok                  bool
		owner               string // of the port, at the end
	}{
		{"pmcheck sees no master", config, "probe: {address: localhost:8141}\n", false, "xinetd"},
		{"pmcheck answers 503", dropin, "[Service]\nEnvironment=PMCHECK_PROBE_ADDRESS=localhost:8141\n", false, "xinetd"},
		{"pmcheck does not start", dropin, "[Service]\nExecStart=\nExecStart=/bin/false\n", false, "xinetd"},
		{"success", "", "", true, "pmcheck"},
		{"already migrated", "", "", false, "pmcheck"},
	} {
		t.Run(step.name, func(t *testing.T) {
			if step.name == "pmcheck does not start" { // an operator may have unmasked it already
				s.Host.MustRun("systemctl", append([]string{"unmask"}, migratedUnits()...)...)
			}
			if step.file != "" {
				before, err := s.Host.Run("cat", step.file)
				s.Host.WriteFile(step.file, step.content, 0o644)
				t.Cleanup(func() {
					if err != nil {
						s.Host.MustRun("rm", step.file)
					} else {
						s.Host.WriteFile(step.file, before+"\n", 0o644)
					}
					s.Host.MustRun("systemctl", "daemon-reload")
				})
				s.Host.MustRun("systemctl", "daemon-reload")
			}
			migrate(t, s.With(t), step.ok, step.owner)
		})
	}
	if kept, err := s.Host.Run("cat", lab.AncestorFile+".before-pmcheck"); kept != old {
		t.Errorf("a second migration changes the copy for the way back: %v\n%s", err, kept)
	}
}

// migrate runs the script once.
func migrate(t *testing.T, s *lab.Site, ok bool, owner string) {
	t.Helper()
	answers := s.Record(20 * time.Millisecond)
	out, err := s.Host.Run("/root/migrate.sh")
	if answers.Count(lab.NoAnswer) > 0 {
		lab.Pause(t, 4*time.Second) // two more checks, so that HAProxy has logged a DOWN
	}
	answers.Stop()
	t.Logf("%s\nanswers: %s; HAProxy: %+v", out, answers, s.HAProxy.Stat("puppet", "m1"))
	if (err == nil) != ok {
		t.Errorf("migrate.sh returns %v, want success: %v\n%s", err, ok, out)
	}
	if log := s.HAProxy.Log(); strings.Contains(log, "is DOWN") {
		t.Errorf("HAProxy had the master DOWN:\n%s", log)
	}
	s.HAProxy.WaitStat("puppet", "m1", func(stat lab.ServerStat) bool { return stat.Status == "UP" }, 20*time.Second)
	if got, _ := s.Host.Run("ss", "-ltnpH", "sport = :9200"); !strings.Contains(got, `"`+owner+`"`) {
		t.Errorf("the listener on the port is %s, want %s", got, owner)
	}
	s.WaitAnswer(200, "", wait)
	assertUnits(t, s, map[string]string{"pmcheck": "enabled", "xinetd": "masked"}[owner])
}

// migratedUnits are the units that the migration enables: those that bind the port, and the guard,
// which would wait for a daemon that is masked.
func migratedUnits() []string {
	return []string{"pmcheck.socket", "pmcheck.service", "pmcheck-guard@puppetserver.service"}
}

func assertUnits(t *testing.T, s *lab.Site, want string) {
	t.Helper()
	for _, unit := range migratedUnits() {
		if got, _ := s.Host.Run("systemctl", "is-enabled", unit); strings.TrimSpace(got) != want {
			t.Errorf("%s is %s, want %s", unit, got, want)
		}
	}
}
