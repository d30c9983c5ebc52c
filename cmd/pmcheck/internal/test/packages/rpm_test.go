package packages_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// standIn is a package that has what pmcheck's needs of EL.
const standIn = `{name: el, arch: all, platform: linux, version: "9", maintainer: pmcheck, description: el,
provides: [systemd = 252, shadow-utils, /bin/sh], rpm: {summary: el}}`

// TestRPM installs, upgrades, downgrades and erases the RPM from its signed repository with the real dnf, on a Debian
// host. Holds survive each step.
func TestRPM(t *testing.T) {
	t.Parallel()
	lab.Need(t, "dnf", "dnf")
	s := boot(t, "rpm")
	dir := t.TempDir()
	lab.Write(t, dir+"/el.yaml", standIn)
	nfpm := exec.Command("go", "tool", "-modfile=.tools/go.mod", "nfpm", "package", "-f", dir+"/el.yaml", "-p", "rpm",
		"-t", dir+"/el.rpm")
	nfpm.Dir = lab.File(t, "")
	lab.Must(t, lab.RunOutside(nfpm))
	s.Host.Copy(dir+"/el.rpm", "/root/el.rpm", 0o644)
	s.Host.MustRun("rpm", "--install", "/root/el.rpm")
	s.Host.WriteFile("/etc/systemd/system-preset/99-el.preset", "disable *\n", 0o644) // as on EL
	s.dnf(older, "install", "pmcheck")
	s.assertPrints("disabled", "systemctl", "is-enabled", "pmcheck.service")
	s.assertPrints("inactive", "systemctl", "is-active", "pmcheck.service") // on EL, packages do not start their units
	s.Host.MustRun("systemctl", "enable", "--now", "pmcheck.service")
	s.assertActive()
	s.assertPrints("pmcheck puppet", "id", "-nG", "pmcheck")
	s.assertPrints("", "rpm", "--verify", "--nodeps", "pmcheck")
	s.Host.WriteFile("/etc/pmcheck/pmcheck.yaml", "log:\n  level: debug\n", 0o644)
	s.Host.MustRun("pmcheck", "drain", "--now")
	s.WaitRefusal("drain", 10*time.Second)

	answers := s.RecordOverlapping(10 * time.Millisecond)
	s.dnf(newer, "upgrade", "pmcheck")
	s.dnf(older, "downgrade", "pmcheck")
	s.dnf(newer, "upgrade", "pmcheck")
	answers.Stop().AssertOnly("503 drain")
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
	s.WaitRefusal("drain", 10*time.Second)
	lintRPM(t, s)
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
