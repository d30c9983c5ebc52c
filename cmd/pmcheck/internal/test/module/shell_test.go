//go:build linux

package module_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// modules is the directory in which Debian installs Puppet modules.
const modules = "/usr/share/puppet/modules"

func TestMain(m *testing.M) { lab.Main(m) }

// A shell is the environment in which an operator, a task or a playbook runs programs: they
// find a site's pmcheck by the name pmcheck, and little else.
type shell struct {
	t    *testing.T
	site *lab.Site // nil for programs that do not reach the daemon
	dir  string    // directory of pmcheck.yaml; also the home directory
	path string    // PATH instead of the usual one
}

// startShell starts a site with further lines of pmcheck.yaml, and waits until it
// serves.
func startShell(t *testing.T, yaml string) *shell {
	t.Helper()
	site := lab.NewSite(t, lab.SiteOptions{YAML: yaml})
	site.Start()
	site.MustRun("wait", "--for", "ready", "--timeout", "20s") // also with TLS
	return &shell{t: t, site: site, dir: site.Dir}
}

// with returns a copy of the shell for use in a subtest.
func (sh *shell) with(t *testing.T) *shell {
	sub := *sh
	sub.t = t
	return &sub
}

// command returns a command that runs a program in the shell.
func (sh *shell) command(program string, args ...string) *exec.Cmd {
	sh.t.Helper()
	path := sh.path
	if path == "" {
		path = filepath.Dir(lab.Build(sh.t)) + ":/usr/sbin:/usr/bin:/sbin:/bin"
	}
	if program == "pmcheck" {
		program = lab.Build(sh.t)
	}
	holds := sh.dir
	if sh.site != nil {
		holds = filepath.Dir(sh.site.Holds.Persistent)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = []string{
		"PATH=" + path,
		"PMCHECK_CONFIG=" + filepath.Join(sh.dir, "pmcheck.yaml"),
		"PMCHECK_HOLDS=" + holds,
		"HOME=" + sh.dir,
		"LANG=C.UTF-8",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// must runs a program, which must succeed, and returns its output on stdout.
func (sh *shell) must(program string, args ...string) string {
	sh.t.Helper()
	return must(sh.t, sh.command(program, args...))
}

// assertMode waits until the daemon has this mode, and asserts the holders of the holds on
// disk, in alphabetical order.
func (sh *shell) assertMode(mode drain.Mode, holders ...string) {
	sh.t.Helper()
	client := lab.Client{Socket: sh.site.Socket()}
	lab.WaitFor(sh.t, 10*time.Second, 5*time.Millisecond, func() error {
		status, err := client.Status(sh.t.Context())
		if err != nil {
			return err
		}
		if server, _ := status.Service(lab.ServerService); server.Mode != mode {
			return fmt.Errorf("the mode is %s, want %s", server.Mode, mode)
		}
		return nil
	})
	var got []string
	for _, h := range sh.site.Holds.Read().Holds() {
		if h.Code != "" {
			sh.t.Errorf("a hold cannot be read: %s", h.Error)
		}
		got = append(got, h.Holder)
	}
	slices.Sort(got)
	if !slices.Equal(got, holders) {
		sh.t.Errorf("held by %v, want %v", got, holders)
	}
}

// must runs cmd, which must succeed, and returns its output on stdout.
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

// exitStatus returns the exit status in an error that exec.Cmd.Run has returned. It fails the
// test if the program could not be run.
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
func tree(t *testing.T, path ...string) string {
	t.Helper()
	return lab.File(t, filepath.Join(path...))
}

// moduleDir copies the module to a directory with the name pmcheck, as Puppet's tools expect
// it, in which they may write files.
func moduleDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pmcheck")
	if err := os.CopyFS(dir, os.DirFS(tree(t, "packaging", "puppet"))); err != nil {
		t.Fatal(err)
	}
	return dir
}
