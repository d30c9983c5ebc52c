//go:build linux

package lab_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestNamespaceHasOnlyLoopbackAndCanBeLeft: loopback is the only interface in the network
// of a test process, and RunOutside runs programs outside that network.
func TestNamespaceHasOnlyLoopbackAndCanBeLeft(t *testing.T) {
	lab.Real(t)
	interfaces, err := net.Interfaces()
	if err != nil || len(interfaces) != 1 || interfaces[0].Flags&net.FlagUp == 0 {
		t.Errorf("the network has %+v, %v; want only lo, and up", interfaces, err)
	}
	own := readLink(t, "/proc/self/ns/net")
	path := t.TempDir() + "/outside"
	if err := lab.RunOutside(exec.Command("sh", "-c", "readlink /proc/self/ns/net >"+path)); err != nil {
		t.Fatal(err)
	}
	if outside := strings.TrimSpace(lab.Read(t, path)); outside == own || outside == "" {
		t.Errorf("RunOutside runs in %q, the tests in %q", outside, own)
	}
	if after := readLink(t, "/proc/self/ns/net"); after != own {
		t.Errorf("the tests are in %q after RunOutside, and were in %q before", after, own)
	}
}

func readLink(t *testing.T, path string) string {
	t.Helper()
	to, err := os.Readlink(path)
	if err != nil {
		t.Fatal(err)
	}
	return to
}
