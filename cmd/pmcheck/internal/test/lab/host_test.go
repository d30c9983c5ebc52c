//go:build linux

package lab_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestHostKeepsFilesOverBootsAndLeavesNothingBehind(t *testing.T) {
	lab.Real(t)
	t.Setenv("TMPDIR", t.TempDir()) // away from other tests' files
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
		if journal := h.Journal(); strings.Count(journal, "Journal started") != 2 {
			t.Errorf("the journal does not show two boots:\n%s", journal)
		}
		start = time.Now()
		h.Poweroff()
		t.Logf("power off: %v", time.Since(start))
		h.PowerOn()
		h.Crash()
		h.PowerOn()
		if out, err := h.Run("cat", "/var/lib/lab"); out != "kept" {
			t.Errorf("/var after a crash: %q, %v", out, err)
		}
	})
	if diff := cmp.Diff(before, machine(t)); diff != "" {
		t.Errorf("left behind:\n%s", diff)
	}
}

// TestProgramsEndWithAKilledTestProcess starts a second test process, which starts a host,
// an HAProxy and an ancestor, and kills it.
func TestProgramsEndWithAKilledTestProcess(t *testing.T) {
	lab.Real(t)
	if os.Getenv("LAB_KILLED") != "" {
		n := lab.StartNetwork(t)
		pids := []int{n.Boot("a1").Pid(), n.StartHAProxy(t, "").Pid(), lab.StartAncestor(t, "127.0.0.1:1").Pid()}
		fmt.Println("pids", pids[0], pids[1], pids[2])
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestProgramsEndWithAKilledTestProcess$")
	cmd.Env = append(os.Environ(), "LAB_KILLED=1", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids [3]int
	if _, err := fmt.Fscanf(out, "pids %d %d %d\n", &pids[0], &pids[1], &pids[2]); err != nil {
		t.Errorf("second test process: %v", err)
	}
	inside, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pids[0]))
	if err != nil {
		t.Error(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	lab.WaitFor(t, 10*time.Second, 10*time.Millisecond, func() error {
		namespaces, err := filepath.Glob("/proc/[0-9]*/ns/pid")
		for _, ns := range namespaces {
			if at, _ := os.Readlink(ns); at == inside {
				err = errors.Join(err, fmt.Errorf("the process of %s still runs on the host", ns))
			}
		}
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				err = errors.Join(err, fmt.Errorf("process %d still runs", pid))
			}
		}
		return err
	})
	lab.StartNetwork(t) // removes the control groups of the killed process
}

// machine returns the state that a host must not change: the machine's mounts, interfaces
// and files, and the control groups of this process.
func machine(t *testing.T) []string {
	t.Helper()
	state := strings.Split(lab.Read(t, "/proc/self/mounts"), "\n")
	groups := fmt.Sprintf("pmcheck-lab.%d.*", os.Getpid())
	for _, pattern := range []string{"/sys/class/net/*", "/run/netns/*", "/var/lib/lab", "/run/lab",
		filepath.Join("/sys/fs/cgroup", groups), filepath.Join("/sys/fs/cgroup/unified", groups),
		filepath.Join(os.TempDir(), "*")} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		state = append(state, names...)
	}
	return state
}
