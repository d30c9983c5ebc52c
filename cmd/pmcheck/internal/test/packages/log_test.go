//go:build linux

package packages_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// assertLog asserts what pmcheck log makes of holds across restarts of the daemon, and who may
// read it. The host must not be held, and gets a persistent journal.
func (s *hostSite) assertLog() {
	s.t.Helper()
	drained := outage{Holder: "log", Mode: "drain", Reason: "two words", By: "alice", Owner: "root"}
	drain := func() {
		drained.End = ""
		s.Host.MustRun("env", "SUDO_USER=alice", "pmcheck", "drain", "--force", "--hold", "log", "--reason", "two words")
		s.waitForAnswer(20*time.Second, "503 drain")
		s.waitForOutage(drained)
	}
	ready := func() { s.Host.MustRun("pmcheck", "ready", "--hold", "log") }
	drain()
	s.Host.MustRun("systemctl", "restart", "pmcheck")
	ready()
	drained.End = "lifted"
	s.waitForOutage(drained)

	drain()
	s.Host.MustRun("systemctl", "stop", "pmcheck")
	s.waitForOutage(drained)
	ready()
	s.Host.MustRun("systemctl", "start", "pmcheck")
	drained.End = "unseen"
	s.waitForOutage(drained)

	drain()
	s.Host.Reboot()
	s.waitForOutage(drained)
	ready()
	drained.End = "lifted"
	s.waitForOutage(drained)
	s.t.Logf("\n%s", s.Host.MustRun("pmcheck", "log"))

	out, err := s.Host.Run("runuser", "-u", "nobody", "--", "pmcheck", "log")
	if err == nil || !strings.Contains(out, "cannot read the journal: ") || !strings.Contains(out, "hint: use sudo, or ") {
		s.t.Errorf("nobody is told %q, %v", out, err)
	}
	s.Host.MustRun("setpriv", "--reuid=nobody", "--regid=systemd-journal", "--clear-groups", "pmcheck", "log")
}

// outage is an element of the output of pmcheck log --json.
type outage struct{ Holder, Service, Mode, Reason, By, Owner, End string }

// waitForOutage waits until the last outage is this one.
func (s *hostSite) waitForOutage(want outage) {
	s.t.Helper()
	lab.WaitFor(s.t, 20*time.Second, 50*time.Millisecond, func() error {
		var got []outage
		out, err := s.Host.Run("pmcheck", "log", "--json", "--lines", "1")
		if err == nil {
			err = json.Unmarshal([]byte(out), &got)
		}
		if err != nil || len(got) != 1 || got[0] != want {
			return fmt.Errorf("the last outage is %+v, want %+v (%v)", got, want, err)
		}
		return nil
	})
}
