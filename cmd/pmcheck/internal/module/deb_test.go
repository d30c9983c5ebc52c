package module_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// deb builds the package of what is in the repository now, for this machine.
func deb(t *testing.T) string {
	t.Helper()
	dist := t.TempDir()
	cmd := exec.Command(tree("packaging", "build"), "packages", runtime.GOARCH)
	cmd.Env = append(cmd.Environ(), "DIST="+dist, "VERSION=0.0.1", "SOURCE_DATE_EPOCH=1700000000")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("packaging/build: %v\n%s", err, out)
	}
	built, err := filepath.Glob(filepath.Join(dist, "pmcheck_*.deb"))
	if err != nil || len(built) != 1 {
		t.Fatalf("packaging/build makes the packages %v, want one", built)
	}
	return built[0]
}
