//go:build linux

package packages_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// standIn is a package that has what pmcheck's needs of EL.
const standIn = `{name: el, arch: all, platform: linux, version: "9", maintainer: pmcheck, description: el,
provides: [systemd = 252, shadow-utils, /bin/sh], rpm: {summary: el}}`

// TestRPM: on a Debian host the RPM leaves nothing behind, and holds survive each step.
func TestRPM(t *testing.T) {
	t.Parallel()
	lab.Need(t, "dnf", "dnf")
	s := boot(t, "rpm")
	t.Run("leaves nothing", func(t *testing.T) { leavesNothing(t, s.with(t)) })
	t.Run("holds survive", func(t *testing.T) { holdsSurvive(t, s.with(t)) })
	lintRPM(t, s)
}

// holdsSurvive installs, upgrades, downgrades and erases the RPM from its signed repository with the real dnf.
func holdsSurvive(t *testing.T, s *hostSite) {
	dir := t.TempDir()
	lab.Write(t, dir+"/el.yaml", standIn)
	nfpm := exec.Command("go", "tool", "-modfile=.tools/go.mod", "nfpm", "package", "-f", dir+"/el.yaml", "-p", "rpm",
		"-t", dir+"/el.rpm")
	nfpm.Dir = lab.File(t, "")
	if err := lab.RunOutside(nfpm); err != nil {
		t.Fatal(err)
	}
	s.Host.Copy(dir+"/el.rpm", "/root/el.rpm", 0o644)
	s.Host.MustRun("rpm", "--install", "/root/el.rpm")
	s.Host.WriteFile("/etc/systemd/system-preset/99-el.preset", "disable *\n", 0o644) // as on EL
	s.dnf(older, "install", "pmcheck")
	s.assertPrints("disabled", "systemctl", "is-enabled", "pmcheck.service")
	s.assertPrints("inactive", "systemctl", "is-active", "pmcheck.service") // on EL, packages do not start their units
	s.Host.MustRun("systemctl", "enable", "--now", "pmcheck.service")
	for _, unit := range []string{"pmcheck.service", "pmcheck.socket", "pmcheck-status.socket",
		"pmcheck-puppet-group.path"} {
		s.assertPrints("active", "systemctl", "is-active", unit)
	}
	s.assertPrints("pmcheck puppet", "id", "-nG", "pmcheck")
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "log:\n  level: debug\n", 0o644)
	s.Host.MustRun("pmcheck", "drain", "--now")
	s.waitForAnswer(10*time.Second, "503 drain")

	stop := s.record("503 drain")
	s.dnf(newer, "upgrade", "pmcheck")
	s.dnf(older, "downgrade", "pmcheck")
	s.dnf(newer, "upgrade", "pmcheck")
	stop()
	s.assertPrints("log:\n  level: debug", "cat", "/etc/pmcheck/pmcheck.yaml")
	s.assertPrints("pmcheck "+newer, "pmcheck", "version")

	s.dnf(newer, "remove", "pmcheck")
	if _, got, err := s.Ask("/"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("an erased pmcheck answers %q, %v; want connection refused", got, err)
	}
	s.Host.MustRun("test", "-e", "/var/lib/pmcheck/holds/operator.json")
	s.assertPrints("", "find", "/etc/systemd/system", "-name", "*pmcheck*")
	s.dnf(newer, "install", "pmcheck")
	s.Host.MustRun("systemctl", "enable", "--now", "pmcheck.service")
	s.waitForAnswer(10*time.Second, "503 drain")
}

// leavesNothing compares the files of a host before the installation with those after the
// erasure, with a site's preset in between.
func leavesNothing(t *testing.T, s *hostSite) {
	const preset = "/etc/systemd/system-preset/50-site.preset"
	s.Host.WriteFile(preset, "enable pmcheck.service\nenable pmcheck-guard@.service puppetserver\ndisable *\n", 0o644)
	defer s.Host.MustRun("rm", preset)
	// On EL the first exists only if a package brings it. The others belong to the package filesystem.
	s.Host.MustRun("rm", "-rf", "/usr/lib/firewalld")
	s.Host.MustRun("mkdir", "-p", "/usr/share/licenses")
	// The accounts stay, and so do what the programs that make them, rpm and systemd write. Elsewhere the host
	// shows the files of this machine, on which other tests and programs write meanwhile.
	files := func() []string {
		return strings.Split(s.Host.MustRun("sh", "-c", `find /etc /usr /opt /srv /var -xdev \( -path /var/log -o `+
			`-path /var/lib/rpm -o -path /var/lib/systemd -o -path /var/cache \) -prune -o -print; `+
			`find /run/pmcheck* 2>&-; find / -maxdepth 1`), "\n")
	}
	s.Host.MustRun("sh", "-c", "systemd-sysusers; useradd warm && userdel warm && usermod -a -G puppet nobody")
	before := files()
	s.Host.MustRun("rpm", "--nodeps", "--install", "/root/"+newer+".rpm")
	for unit, want := range map[string]string{
		"pmcheck.service":                       "enabled",
		"pmcheck.socket":                        "enabled",
		"pmcheck-guard@puppetserver.service":    "enabled",
		"pmcheck-guard@pe-puppetserver.service": "disabled",
	} {
		s.assertPrints(want, "systemctl", "is-enabled", unit)
	}
	s.Host.MustRun("systemctl", "start", "pmcheck.service")
	s.waitForAnswer(20*time.Second, "503 unhealthy: refused") // no Puppet Server runs on this host
	s.Host.MustRun("pmcheck", "drain", "--now")
	s.Host.MustRun("pmcheck", "ready")
	s.assertPrints("", "rpm", "--verify", "--nodeps", "pmcheck")
	s.Host.MustRun("rpm", "--nodeps", "--erase", "pmcheck")
	if diff := cmp.Diff(before, files()); diff != "" {
		t.Errorf("files before the installation (-) and after the erasure (+):\n%s", diff)
	}
}

// TestSELinuxPolicyCompiles compiles the module for HAProxy with the types and classes of
// EL's policy that it names. That EL's policy has them cannot be tested on Debian.
func TestSELinuxPolicyCompiles(t *testing.T) {
	secilc := lab.Need(t, "secilc", "secilc")
	policy := filepath.Join(t.TempDir(), "el.cil")
	lab.Write(t, policy, `
(handleunknown allow) (mls false)
(sid kernel) (sidorder (kernel))
(class tcp_socket (name_connect name_bind)) (classorder (tcp_socket))
(sensitivity s0) (sensitivityorder (s0))
(user system_u) (role object_r) (role system_r)
(userrole system_u object_r) (userrole system_u system_r)
(userlevel system_u (s0)) (userrange system_u ((s0) (s0)))
(sidcontext kernel (system_u system_r kernel_t ((s0) (s0))))
(typeattribute cil_gen_require)
(type kernel_t) (type haproxy_t) (type puppet_port_t) (type wap_wsp_port_t)
(roletype system_r kernel_t) (roletype system_r haproxy_t)
(allow kernel_t haproxy_t (tcp_socket (name_connect)))
`)
	lab.Output(t, exec.Command(secilc, "--output=/dev/null", "--filecontext=/dev/null", policy,
		lab.File(t, "packaging/selinux/pmcheck.cil")))
}
