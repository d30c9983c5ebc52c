//go:build linux

package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// DEB builds pmcheck's package for this machine from what is in the repository
// now, and returns the file's path. The file is removed when the test ends.
func DEB(tb testing.TB, version string) string {
	tb.Helper()
	dist := tempDir(tb)
	cmd := exec.Command("packaging/build", "packages", runtime.GOARCH)
	cmd.Dir = File(tb, "")
	cmd.Env = append(os.Environ(), "DIST="+dist, "VERSION="+version, "SOURCE_DATE_EPOCH=1767225600")
	if err := RunOutside(cmd); err != nil {
		tb.Fatal(err)
	}
	built, err := filepath.Glob(filepath.Join(dist, "*.deb"))
	if err != nil || len(built) != 1 {
		tb.Fatalf("built the packages %v, want one", built)
	}
	return built[0]
}

// DebianDEB downloads the package of Debian that this machine would install, and returns
// the file's path.
func DebianDEB(tb testing.TB, name string) string {
	tb.Helper()
	dir := tempDir(tb)
	cmd := exec.Command("apt-get", "download", name)
	cmd.Dir = dir
	if err := RunOutside(cmd); err != nil {
		tb.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(files) != 1 {
		tb.Fatalf("downloaded the packages %v, want one", files)
	}
	return files[0]
}
