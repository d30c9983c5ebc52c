//go:build linux

package versions_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// emulator runs programs for arm64, with the system calls of this machine's kernel.
const emulator = "qemu-aarch64-static"

// TestARM64 runs the demo and the quick tests of a pmcheck for arm64, emulated. Some of the
// packages, those that ask most of the kernel, are a part of make test-all.
func TestARM64(t *testing.T) {
	t.Run("demo", func(t *testing.T) {
		need(t)
		program := filepath.Join(t.TempDir(), "pmcheck")
		buildARM64(t, "build", "-o", program, "./cmd/pmcheck")
		assertARM64(t, program)
		demo := lab.StartDemoOf(t, lab.StartNetwork(t), lab.BridgeAddress, emulator, program)
		demo.Type("drain", "drain")
		demo.Type("ready", lab.ServingBody)
		demo.Type("stopped", "unhealthy: refused")
		demo.Type("running", lab.ServingBody)
	})
	t.Run("some", func(t *testing.T) { runQuickTests(t, "check", "drain", "systemd", "tcp") })
	t.Run("quick", func(t *testing.T) {
		results := runQuickTests(t)
		lab.Publish(t, "versions-arm64", results)
		t.Logf("measured:\n%s", results)
	})
}

// need fails the test if arm64 cannot be emulated.
func need(t *testing.T) {
	t.Helper()
	lab.Real(t)
	lab.Need(t, emulator, "qemu-user-static")
}

// buildARM64 runs a command of go for arm64, in the root of the repository.
func buildARM64(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = lab.File(t, "")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if err := lab.RunOutside(cmd); err != nil {
		t.Fatal(err)
	}
}

// assertARM64 fails the test unless the program is one for arm64.
func assertARM64(t *testing.T, program string) {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Machine != elf.EM_AARCH64 {
		t.Fatalf("%s is a program for %v", program, file.Machine)
	}
}

// A tested package has tests of its own that need only Go.
type tested struct{ path, dir string }

// name is short, and no other package has it.
func (p tested) name() string { return filepath.Base(p.dir) }

// packages lists the packages with quick tests: all, or those with these names.
func packages(t *testing.T, names ...string) (list []tested) {
	t.Helper()
	cmd := exec.Command("go", "list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}", "./...")
	cmd.Dir = lab.File(t, "")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		p := tested{path: path, dir: dir}
		// The suites test the machine's own programs, and those of the main package the source.
		if strings.Contains(path, "/internal/test/") || strings.HasSuffix(path, "/cmd/pmcheck") ||
			len(names) > 0 && !wanted[p.name()] {
			continue
		}
		list = append(list, p)
	}
	if len(list) == 0 || len(names) > 0 && len(list) != len(names) {
		t.Fatalf("%d packages for %v", len(list), names)
	}
	return list
}
