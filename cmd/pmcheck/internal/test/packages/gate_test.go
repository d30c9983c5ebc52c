package packages_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestGateUnit: the unit of the package, off at first, on a host with a server on Puppet's
// port.
func TestGateUnit(t *testing.T) {
	lab.Need(t, "nft", "nftables")
	s := boot(t, "gate")
	s.Host.WriteFile("/etc/systemd/system/other.service",
		"[Service]\nExecStart=/usr/bin/python3 -m http.server 8140\n[Install]\nWantedBy=multi-user.target\n", 0o644)
	s.Host.MustRun("systemctl", "enable", "--now", "other.service")
	s.install(older)
	if state, _ := s.Host.Run("systemctl", "is-enabled", "pmcheck-gate.service"); state != "disabled" {
		t.Errorf("after the installation it is %s", state)
	}
	s.Host.MustRun("systemctl", "enable", "--now", "pmcheck-gate.service")
	out, err := s.Host.Run("systemd-analyze", "security", "--no-pager", "--threshold=13", "pmcheck-gate.service")
	t.Log(out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:])
	if err != nil {
		t.Error("it is exposed more than 2.0")
	}
	pid := s.Host.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck-gate.service")
	s.assertPrints("0000000000001000", "sh", "-c", "sed -n 's/^CapEff:[[:space:]]*//p' /proc/"+pid+"/status") // NET_ADMIN

	s.waitForPort(false, 20*time.Second)
	s.Host.MustRun("pmcheck", "drain", "--force")
	s.waitForPort(true, 5*time.Second)
	const shown = `pmcheck status | sed -nE 's/^(gate) +(closed) since.*/\1 \2/p'`
	s.waitForOutput(10*time.Second, "gate closed", "sh", "-c", shown)

	t.Run("killed", func(t *testing.T) {
		on := s.with(t)
		// Only the main process, as a crash does: systemd 257 would kill what opens the gate, too.
		on.Host.MustRun("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "pmcheck-gate.service")
		took := on.waitForPort(false, 5*time.Second)
		t.Logf("the port was open after %v", took.Round(time.Millisecond))
		t.Logf("and refused again after %v", on.waitForPort(true, 30*time.Second).Round(time.Millisecond))
	})
	t.Run("hangs", func(t *testing.T) {
		on := s.with(t)
		// The port is refused before the unit has started, and the watchdog watches only then.
		on.waitForOutput(10*time.Second, "active", "systemctl", "is-active", "pmcheck-gate.service")
		on.Host.MustRun("systemctl", "kill", "--signal=STOP", "pmcheck-gate.service")
		on.waitForPort(false, 30*time.Second)
		on.waitForPort(true, 30*time.Second)
	})
	t.Run("package removed", func(t *testing.T) {
		on := s.with(t)
		on.Host.MustRun("dpkg", "--remove", "pmcheck")
		on.waitForPort(false, time.Second)
		on.assertPrints("", "nft", "list", "ruleset")
		on.install(newer)
		on.waitForPort(true, 10*time.Second) // it is still enabled, and the hold was kept
	})
}

func (s *hostSite) waitForPort(refused bool, within time.Duration) time.Duration {
	s.TB.Helper()
	return lab.WaitFor(s.TB, within, 10*time.Millisecond, func() error {
		conn, err := s.Net.DialContext(s.TB.Context(), "tcp", s.Host.Address+":8140")
		if err == nil {
			conn.Close()
		}
		if refused != errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("a new connection: %v", err)
		}
		return nil
	})
}
