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

// TestNamespace: the tests of a process share a network in which nothing but
// loopback exists, and programs that are built run outside of it.
func TestNamespace(t *testing.T) {
	lab.Real(t)
	interfaces, err := net.Interfaces()
	if err != nil || len(interfaces) != 1 || interfaces[0].Flags&net.FlagUp == 0 {
		t.Errorf("the network has %+v, %v; want lo alone, and up", interfaces, err)
	}
	own := readLink(t, "/proc/self/ns/net")
	path := t.TempDir() + "/outside"
	if err := lab.RunOutside(exec.Command("sh", "-c", "readlink /proc/self/ns/net >"+path)); err != nil {
		t.Fatal(err)
	}
	if outside := strings.TrimSpace(readFile(t, path)); outside == own || outside == "" {
		t.Errorf("RunOutside runs in %q, the tests in %q", outside, own)
	}
	if after := readLink(t, "/proc/self/ns/net"); after != own {
		t.Errorf("after RunOutside the tests are in %q, before in %q", after, own)
	}
}

// TestAddress: no address is given out twice, and each can be bound at once.
func TestAddress(t *testing.T) {
	lab.Real(t)
	seen := map[string]bool{}
	for range 100 {
		address := lab.Address(t, "127.0.0.1")
		if seen[address] {
			t.Fatalf("%s twice", address)
		}
		seen[address] = true
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
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
