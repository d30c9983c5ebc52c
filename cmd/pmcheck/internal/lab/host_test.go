package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/lab"
)

func TestHost(t *testing.T) {
	lab.Real(t)
	before := machine(t)
	t.Run("host", func(t *testing.T) {
		n := lab.StartNetwork(t)
		start := time.Now()
		h := n.Boot("a1")
		t.Logf("boot: %v", time.Since(start))
		if pid1 := h.MustRun("cat", "/proc/1/comm"); pid1 != "systemd" {
			t.Errorf("PID 1 is %s", pid1)
		}
		h.MustRun("sh", "-c", "echo kept >/var/lib/lab; echo lost >/run/lab")
		start = time.Now()
		h.Reboot()
		t.Logf("reboot: %v", time.Since(start))
		if out, err := h.Run("cat", "/var/lib/lab"); out != "kept" {
			t.Errorf("/var after a reboot: %q, %v", out, err)
		}
		if out, err := h.Run("cat", "/run/lab"); err == nil {
			t.Errorf("/run after a reboot: %q", out)
		}
	})
	if diff := cmp.Diff(before, machine(t)); diff != "" {
		t.Errorf("left behind:\n%s", diff)
	}
}

// machine returns what a host must leave as it was: the mounts, interfaces,
// control groups and files of the machine.
func machine(t *testing.T) []string {
	t.Helper()
	state := strings.Split(readFile(t, "/proc/self/mounts"), "\n")
	for _, pattern := range []string{"/sys/class/net/*", "/sys/fs/cgroup/*", "/sys/fs/cgroup/unified/*",
		"/run/netns/*", "/var/lib/lab", "/run/lab", filepath.Join(os.TempDir(), "pmcheck-lab-*")} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		state = append(state, names...)
	}
	return state
}
