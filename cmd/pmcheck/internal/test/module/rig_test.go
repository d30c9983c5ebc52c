package module_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// modules is where Debian keeps the modules that others need.
const modules = "/usr/share/puppet/modules"

// A rig is a master that is well, with a pmcheck that runs on this machine
// under a configuration of its own.
type rig struct {
	t       *testing.T
	dir     string
	address string // where it answers balancers
	master  *checktest.Master
	store   *drain.Store
	path    string // of programs, instead of the usual one
}

// newRig starts a stand-in master and the daemon, with further lines of
// pmcheck.yaml, and waits until it is fit.
func newRig(t *testing.T, yaml string) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "pmcheck-module-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := &rig{t: t, dir: dir, address: lab.FreeAddress(t, "127.0.0.1"),
		store: &drain.Store{Persistent: filepath.Join(dir, "holds"), UntilReboot: filepath.Join(dir, "run")}}
	for _, path := range []string{r.store.Persistent, r.store.UntilReboot} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r.master, err = checktest.NewMaster(filepath.Join(dir, "puppet"), "standin.lab.example", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.master.Close() })
	write(t, r.configFile(), fmt.Sprintf("listen: %s\nsocket: %s\nholds: {persistent: %s, until_reboot: %s}\npuppet: {conf: %s}\n%s",
		r.address, filepath.Join(dir, "pmcheck.sock"), r.store.Persistent, r.store.UntilReboot,
		filepath.Join(dir, "puppet", "puppet.conf"), yaml))
	r.serve()
	return r
}

func (r *rig) configFile() string { return filepath.Join(r.dir, "pmcheck.yaml") }

// command prepares a program that finds this rig's pmcheck by the name pmcheck,
// and little else.
func (r *rig) command(program string, args ...string) *exec.Cmd {
	r.t.Helper()
	path := r.path
	if path == "" {
		path = filepath.Dir(lab.Build(r.t)) + ":/usr/sbin:/usr/bin:/sbin:/bin"
	}
	if program == "pmcheck" {
		program = lab.Build(r.t)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=" + path, "PMCHECK_CONFIG=" + r.configFile(), "HOME=" + r.dir, "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// must runs a program that has to succeed and returns what it wrote to stdout.
func (r *rig) must(program string, args ...string) string {
	r.t.Helper()
	return must(r.t, r.command(program, args...))
}

// serve starts the daemon, which ends with the test, and waits until it answers
// 200.
func (r *rig) serve() {
	r.t.Helper()
	var log bytes.Buffer
	cmd := r.command("pmcheck", "serve")
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if r.t.Failed() {
			r.t.Logf("pmcheck logged:\n%s", &log)
		}
	})
	r.must("pmcheck", "wait", "--for", "ready", "--timeout", "20s")
}

// awaitMode waits until the daemon acts in this mode, and compares the holders
// of the holds on disk, in the order of the alphabet.
func (r *rig) awaitMode(mode drain.Mode, holders ...string) {
	r.t.Helper()
	client := api.Client{Socket: filepath.Join(r.dir, "pmcheck.sock")}
	lab.RetryUntil(r.t, 10*time.Second, 5*time.Millisecond, func() error {
		status, err := client.Status(r.t.Context())
		if err != nil {
			return err
		}
		if server, _ := status.Service(monitor.Server); server.Mode != mode {
			return fmt.Errorf("the mode is %s, want %s", server.Mode, mode)
		}
		return nil
	})
	var got []string
	for _, h := range r.store.Read().Holds() {
		if h.Code != "" {
			r.t.Errorf("unreadable: %s", h.Error)
		}
		got = append(got, h.Holder)
	}
	slices.Sort(got)
	if !slices.Equal(got, holders) {
		r.t.Errorf("held by %v, want %v", got, holders)
	}
}

// must runs cmd, which has to succeed, and returns what it wrote to stdout.
func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, &errs)
	}
	return string(out)
}

// exitStatus returns the exit status of a program that ran, as Run's error says.
func exitStatus(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// tree returns a path in the repository.
func tree(path ...string) string {
	_, self, _, _ := runtime.Caller(0)
	return filepath.Join(append([]string{filepath.Dir(self), "..", "..", "..", "..", ".."}, path...)...)
}

// moduleDir copies the module to a directory of its right name, pmcheck, where
// Puppet's tools look for it and may leave what they like.
func moduleDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pmcheck")
	if err := os.CopyFS(dir, os.DirFS(tree("packaging", "puppet"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
