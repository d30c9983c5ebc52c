package versions_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// emulator runs programs for arm64, with the system calls of this machine's kernel.
const emulator = "qemu-aarch64-static"

// TestARM64 runs the demo of a pmcheck for arm64, emulated.
func TestARM64(t *testing.T) {
	lab.RealLong(t)
	lab.Need(t, emulator, "qemu-user-static")
	program := filepath.Join(t.TempDir(), "pmcheck")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/pmcheck")
	cmd.Dir = lab.File(t, "")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	lab.Must(t, lab.RunOutside(cmd))
	demo := lab.StartDemo(t, lab.StartNetwork(t), lab.BridgeAddress, emulator, program)
	demo.Type("drain", "drain")
	demo.Type("ready", lab.ServingBody)
	demo.Type("stopped", "unhealthy: refused")
	demo.Type("running", lab.ServingBody)
}
