//go:build linux

package packages_test

import (
	"testing"
	"time"
)

// journal asserts that systemd's journal has the beginning and the end of each hold, also of one
// that was lifted after a restart of the daemon, and those of the guard.
func journal(_ *testing.T, s *hostSite) {
	const (
		fields = ` hold=log service="" mode=drain by=alice owner=root reason="two words"`
		guard  = ` hold=guard service="" mode=drain owner=root reason="puppetserver is about to stop"`
	)
	s.Host.MustRun("env", "SUDO_USER=alice", "pmcheck", "drain", "--force", "--hold", "log", "--reason", "two words")
	s.waitForAnswer(20*time.Second, "503 drain")
	s.WaitLog(`hold set`+fields, 10*time.Second)
	s.Host.MustRun("systemctl", "restart", "pmcheck")
	s.Host.MustRun("pmcheck", "ready", "--hold", "log")
	s.WaitLog(`hold lifted`+fields, 10*time.Second)

	s.Host.MustRun("systemctl", "restart", "puppetserver")
	s.waitForAnswer(2*time.Minute, serving)
	s.WaitLog(`hold set`+guard, 10*time.Second)
	s.WaitLog(`hold lifted`+guard, 10*time.Second)
}
