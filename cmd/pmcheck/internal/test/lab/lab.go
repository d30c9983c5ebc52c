// Package lab starts the real programs around pmcheck, for tests and benchmarks: Puppet
// Server, HAProxy, xinetd, and whole hosts with a systemd of their own.
//
// Everything runs below a temporary directory and in a network namespace of the test
// process, and ends with the test: its cleanup ends the programs or, if the test process
// is killed, the kernel does. The machine's own /etc/puppet, /var/lib/puppet, network
// and units are never touched, and several instances of each program may run at once.
//
// A Site is what most tests need: a master, pmcheck beside it, and HAProxy. TestMain
// must call Main, and a test that starts real programs must call Real first:
//
//	func TestMain(m *testing.M) { lab.Main(m) }
//
//	func TestDrainIsSeen(t *testing.T) {
//		lab.Real(t)
//		site := lab.StartSite(t, lab.SiteOptions{YAML: "probe: {interval: 1s}\n"})
//		site.Hold(drain.Drain)
//		site.WaitRefusal("drain", 5*time.Second)
//	}
//
// A missing program fails the test with the name of its Debian package. Values of this
// package belong to the test that made them and, unless documented otherwise, are not safe
// for concurrent use.
package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Real skips the test under go test -short. It fails the test if it does not run as root,
// since only root can make namespaces, start programs as other users, and signal them.
func Real(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts real programs; run without -short")
	}
	if os.Geteuid() != 0 {
		tb.Fatal("starts real programs as other users: run as root, or with -short")
	}
	if !inOwnNamespace() {
		tb.Fatal("no network namespace: TestMain does not call lab.Main, or CAP_SYS_ADMIN is missing")
	}
}

// Need returns the path of program, or fails the test with the Debian package to install:
// a test that did not run must not count as passed. With -short it skips the test, whether
// the program is there or not, since the quick tests need nothing but Go.
func Need(tb testing.TB, program, debianPackage string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs " + program + "; run without -short")
	}
	path, err := exec.LookPath(program)
	if err != nil {
		tb.Fatalf("%v (apt-get install --no-install-recommends %s)", err, debianPackage)
	}
	return path
}

// Long reports whether PMCHECK_LONG asks for the long form of a suite.
func Long() bool { return os.Getenv("PMCHECK_LONG") != "" }

// RealLong is Real for a test that only the long form of its suite has: make test-all skips it, and make proof or make
// versions runs it.
func RealLong(tb testing.TB) {
	tb.Helper()
	Real(tb)
	if !Long() {
		tb.Skip("only in the long form: set PMCHECK_LONG")
	}
}

// Build compiles cmd/pmcheck, without the race detector, once per test process
// and returns the path of the binary. PMCHECK_PROGRAM names another one, for a comparison
// of two versions in the same test. go test removes it with its own work
// directory, which only root can enter: copy it to run it as another user.
func Build(tb testing.TB) string {
	tb.Helper()
	if other := os.Getenv("PMCHECK_PROGRAM"); other != "" {
		return other
	}
	path, err := build()
	Must(tb, err)
	return path
}

var build = sync.OnceValues(func() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(self), "pmcheck")
	cmd := exec.Command("sh", "-c", `cd "$(go list -m -f '{{.Dir}}')" &&
		go build -race=false -tags "$(cat packaging/tags)" -o "$0" ./cmd/pmcheck`, path)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return path, RunOutside(cmd)
})

// RunOutside runs a command in the network that the test process was started in: a build
// may have to download modules. The error includes the output.
func RunOutside(cmd *exec.Cmd) error {
	return outside(func() error {
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
		}
		return nil
	})
}

// tempDir returns a temporary directory like that of testing.TB.TempDir, but one that
// programs running as another user can enter.
func tempDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pmcheck-lab-")
	Must(tb, err)
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("cannot remove the temporary directory: %v", err)
		}
	})
	Must(tb, os.Chmod(dir, 0o755))
	return dir
}

// Must fails the test, and ends it, if there is an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	Must(tb, err)
	return string(data)
}

// Write writes a file that every user can read, and creates its directory.
func Write(tb testing.TB, path, content string) {
	tb.Helper()
	Must(tb, os.MkdirAll(filepath.Dir(path), 0o755))
	Must(tb, os.WriteFile(path, []byte(content), 0o644))
}
