//go:build linux

package packages_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// journal asserts that systemd's journal has the beginning and the end of each hold, also of one
// that was lifted after a restart of the daemon; and that journalctl tells warnings and errors from the rest.
func journal(t *testing.T, s *hostSite) {
	const fields = ` hold=log service="" mode=drain by=alice owner=root reason="two words"`
	s.Host.MustRun("env", "SUDO_USER=alice", "pmcheck", "drain", "--force", "--hold", "log", "--reason", "two words")
	s.waitForAnswer(20*time.Second, "503 drain")
	s.WaitLog(`level=INFO msg="hold set"`+fields, 10*time.Second)
	s.Host.MustRun("systemctl", "restart", "pmcheck")
	s.Host.MustRun("pmcheck", "ready", "--hold", "log")
	s.WaitLog(`level=INFO msg="hold lifted"`+fields, 10*time.Second)

	s.Host.WriteFile("/var/lib/pmcheck/holds/torn.json", "{", 0o644)
	s.waitForAnswer(20*time.Second, "503 maint")
	s.WaitLog("hold=torn", 10*time.Second)
	s.Host.MustRun("pmcheck", "ready", "--hold", "torn")
	s.Host.MustRun("systemctl", "kill", "--signal=QUIT", "pmcheck.service") // Go prints a trace
	s.waitForAnswer(20*time.Second, serving)
	s.assertLogged("warning", "hold=torn", "msg=\"verdict changed\"", "SIGQUIT: quit")
	s.assertLogged("err", "hold=torn", "SIGQUIT: quit")
	if out := s.logged("warning"); strings.Contains(out, "level=INFO") {
		t.Errorf("a line of level info is a warning:\n%s", out)
	}
}

// assertLogged asserts that the journal has lines of at least a priority with each of these texts.
func (s *hostSite) assertLogged(priority string, texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		lab.WaitFor(s.t, 10*time.Second, 50*time.Millisecond, func() error {
			if out := s.logged(priority); !strings.Contains(out, text) {
				return fmt.Errorf("no %s among those of priority %s:\n%s", text, priority, out)
			}
			return nil
		})
	}
}

// logged returns what the daemon has logged with at least a priority.
func (s *hostSite) logged(priority string) string {
	s.t.Helper()
	return s.Host.MustRun("journalctl", "-q", "--no-pager", "-o", "cat", "-u", "pmcheck", "-p", priority)
}
