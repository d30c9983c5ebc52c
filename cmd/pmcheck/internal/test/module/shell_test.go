package module_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// modules is the directory in which Debian installs Puppet modules.
const modules = "/usr/share/puppet/modules"

func TestMain(m *testing.M) { lab.Main(m) }

// A shell is the environment in which a task or a playbook runs programs: they find a site's pmcheck by
// the name pmcheck, and little else.
type shell struct {
	*lab.Site
	t *testing.T
}

func startShell(t *testing.T) *shell {
	t.Helper()
	lab.Real(t)
	return &shell{lab.StartSite(t, lab.SiteOptions{}), t}
}

// command returns a command that runs a program in the shell.
func (sh *shell) command(program string, args ...string) *exec.Cmd {
	sh.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{
		"PATH=" + filepath.Dir(lab.Build(sh.t)) + ":/usr/sbin:/usr/bin:/sbin:/bin",
		"PMCHECK_CONFIG=" + sh.ConfigFile(),
		"PMCHECK_HOLDS=" + sh.Dir,
		"HOME=" + sh.Dir,
		"LANG=C.UTF-8",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// assertMode waits until the daemon has this mode, and asserts the holders of the holds on
// disk, in alphabetical order.
func (sh *shell) assertMode(mode drain.Mode, holders ...string) {
	sh.t.Helper()
	sh.WaitStatus(10*time.Second, func(s lab.Status) error {
		if got := s.Services[0].Mode; got != mode {
			return fmt.Errorf("the mode is %s, want %s", got, mode)
		}
		return nil
	})
	var got []string
	for _, h := range sh.Holds.Read().Holds() {
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

// exits runs a command, which must exit with one of the wanted statuses.
func exits(t *testing.T, cmd *exec.Cmd, want ...int) (output string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); !slices.Contains(want, got) {
		t.Fatalf("%v: the exit status is %d (%v), want one of %v\n%s", cmd.Args, got, err, want, out)
	}
	return string(out)
}

// removePmcheck removes from a host what it has of this machine, with whose files it starts.
func removePmcheck(h *lab.Host) {
	h.MustRun("rm", "-rf", "/usr/bin/pmcheck", "/etc/pmcheck", "/var/lib/pmcheck")
}

// moduleDir copies the module to a directory with the name pmcheck, as Puppet's tools expect
// it, in which they may write files.
func moduleDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pmcheck")
	lab.Must(t, os.CopyFS(dir, os.DirFS(lab.File(t, "packaging/puppet"))))
	return dir
}
