//go:build linux

package packages_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestLintianReportsNothing: overrides in the package state why a tag does not apply.
func TestLintianReportsNothing(t *testing.T) {
	lintian, deb := lab.Need(t, "lintian", "lintian"), packages(t)[newer].deb
	out, err := exec.Command(lintian, "--no-user-dirs", "--allow-root", "--fail-on", "error,warning", deb).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("lintian: %v\n%s", err, out)
	}
}

// lintRPM runs rpmlint on a host, since rpmlint unpacks absolute paths of a package to these
// paths.
func lintRPM(t *testing.T, s *hostSite) {
	t.Helper()
	lab.Need(t, "rpmlint", "rpmlint")
	s.Host.Copy(lab.File(t, "packaging/rpm/rpmlint.toml"), "/root/rpmlint.toml", 0o644)
	s.Host.MustRun("sh", "-c", `mkdir /root/lint && for p in "$@"; do cp "$p" "/root/lint/$(rpm -qp "$p").rpm"; done`,
		"sh", "/root/"+newer+".rpm", "/root/"+newer+".selinux.rpm")
	out, err := s.Host.Run("sh", "-c", "rpmlint -c /root/rpmlint.toml /root/lint/*.rpm")
	if err != nil || !strings.Contains(out, " 0 errors, 0 warnings") {
		t.Errorf("rpmlint: %v\n%s", err, out)
	}
}

// TestSocketUnitsMatchTheDaemon: systemd binds the same port as the daemon does without systemd, and
// the socket where the commands look for it.
func TestSocketUnitsMatchTheDaemon(t *testing.T) {
	status := lab.ReadFile(t, "systemd/pmcheck-status.socket")
	if line := "\nListenStream=" + config.Default().Socket + "\n"; !strings.Contains(status, line) {
		t.Errorf("pmcheck-status.socket does not have %q", line)
	}
	unit, err := os.ReadFile("../../../../../systemd/pmcheck.socket")
	if err != nil {
		t.Fatal(err)
	}
	port := ":" + string(regexp.MustCompile(`(?m)^ListenStream=(\d+)$`).FindSubmatch(unit)[1])
	if listen := config.Default().Listen; listen != port {
		t.Errorf("by default the daemon listens on %s, pmcheck.socket on %s", listen, port)
	}
}
