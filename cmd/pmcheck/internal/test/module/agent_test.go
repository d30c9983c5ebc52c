package module_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// Exit statuses of puppet agent --detailed-exitcodes.
const (
	unchanged = 0
	changed   = 2
	failed    = 4
	mixed     = 6 // some changes, some failures
)

// productionModules is where Debian's Puppet Server looks for modules.
const productionModules = "/etc/puppet/code/environments/production/modules"

func copyModule(t *testing.T, h *lab.Host, modules string) {
	t.Helper()
	cmd := h.Command("sh", "-c", `mkdir -p "$0" && tar -x -C "$0"`, modules+"/pmcheck")
	archive, err := exec.Command("tar", "-c", "-C", lab.File(t, "packaging/puppet"), ".").Output()
	lab.Must(t, err)
	cmd.Stdin = bytes.NewReader(archive)
	lab.Output(t, cmd)
}

// run makes the host's agent fetch the catalog of manifest from the host's own Puppet
// Server, and apply it.
func run(t *testing.T, s *lab.Site, manifest string, want ...int) (output string) {
	t.Helper()
	s.Puppet.SetSitePP(manifest)
	return exits(t, s.Host.Command("puppet", "agent", "--test", "--color=false"), want...)
}

// class returns a declaration of class pmcheck that installs the package on the host, with
// further parameters.
func class(s *lab.Site, parameters string) string {
	sum := strings.Fields(s.Host.MustRun("sha256sum", debFile))[0]
	return fmt.Sprintf("class { 'pmcheck':\n  package_source => 'file://%s',\n  package_sha256 => '%s',\n  %s\n}\n",
		debFile, sum, parameters)
}

func testModule(t *testing.T, s *lab.Site) {
	for _, step := range []struct {
		name string
		test func(*testing.T, *lab.Site)
	}{
		{"another package than expected", testChecksum},
		{"install", testInstall},
		{"held", testHeld},
		{"settings that pmcheck does not know", testUnknownSetting},
		{"removed", testRemoved},
	} {
		t.Run(step.name, func(t *testing.T) { step.test(t, s.With(t)) })
	}
}

func testChecksum(t *testing.T, s *lab.Site) {
	run(t, s, fmt.Sprintf("class { 'pmcheck': package_source => 'file://%s', package_sha256 => '%064d' }", debFile, 0),
		failed, mixed)
	if out, err := s.Host.Run("pmcheck", "version"); err == nil {
		t.Errorf("a package with the wrong checksum is installed: %s", out)
	}
}

func testInstall(t *testing.T, s *lab.Site) {
	manifest := class(s, "")
	run(t, s, manifest, changed)
	s.WaitServing(wait)
	for _, unit := range []string{"pmcheck.service", "pmcheck.socket", "pmcheck-guard@puppetserver.service"} {
		s.Host.MustRun("systemctl", "is-enabled", unit)
	}
	for _, unit := range []string{"pmcheck-guard@", "pmcheck-guard-reload@", "pmcheck-guard-reloaded@"} {
		s.Host.MustRun("systemctl", "is-active", unit+"puppetserver.service")
	}
	t.Log(run(t, s, manifest, unchanged))

	// An RPM leaves the guard of a server that runs as it is now: enabled, and not started.
	s.Host.MustRun("systemctl", "stop", "pmcheck-guard@puppetserver.service")
	run(t, s, manifest, changed)
	started := "until systemctl --quiet is-active pmcheck-guard@puppetserver.service; do sleep 0.1; done"
	if out, err := s.Host.Run("timeout", "30", "sh", "-c", started); err != nil {
		t.Errorf("the guard of a server that runs is not started, so its next stop is not guarded: %v, %s", err, out)
	}
}

// testHeld changes the configuration of a master with two holds, one of them until the next
// reboot. A reload is enough.
func testHeld(t *testing.T, s *lab.Site) {
	s.Host.MustRun("pmcheck", "drain", "--now", "--reason", "the operator's own")
	s.Host.MustRun("pmcheck", "maint", "--hold", "other", "--until-reboot")
	s.WaitRefusal("maint", wait)
	answers := s.Record(20 * time.Millisecond)

	daemon := func() string { return s.Host.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service") }
	before := daemon()
	run(t, s, class(s, "probe => { interval => '3s' }, log => { level => 'debug' },"), changed)
	if got := s.Host.MustRun("pmcheck", "config"); !strings.Contains(got, "3s") {
		t.Errorf("the configuration is not the new one:\n%s", got)
	}
	if got := daemon(); got != before {
		t.Errorf("the daemon was restarted (process %s, now %s) where a reload is enough", before, got)
	}

	answers.Stop().AssertOnly("503 maint")
	s.Host.MustRun("pmcheck", "ready", "--hold", "other")
	s.WaitRefusal("drain", wait)
	s.Host.MustRun("pmcheck", "ready")
	s.WaitServing(wait)
}

func testUnknownSetting(t *testing.T, s *lab.Site) {
	const file = "/etc/pmcheck/pmcheck.yaml"
	before := s.Host.MustRun("cat", file)
	out := run(t, s, class(s, "settings => { probe => { intervall => '3s' } },"), failed, mixed)
	if !strings.Contains(out, "probe.intervall") {
		t.Errorf("the agent's output does not name probe.intervall:\n%s", out)
	}
	if got := s.Host.MustRun("cat", file); got != before {
		t.Errorf("the bad configuration was written:\n%s", got)
	}
	s.WaitServing(wait)
}

// testRemoved removes pmcheck from a master that is held: the hold is the operator's.
func testRemoved(t *testing.T, s *lab.Site) {
	s.Host.MustRun("pmcheck", "drain", "--now", "--reason", "the operator's own")
	server := func() string { return s.Host.MustRun("systemctl", "show", "-P", "MainPID", "puppetserver.service") }
	before := server()
	manifest := class(s, "ensure => 'absent',")
	run(t, s, manifest, changed)
	if got := server(); got != before {
		t.Errorf("Puppet Server was restarted (process %s, now %s)", before, got)
	}
	left := "find /etc/systemd/system /etc/pmcheck /usr/bin -name '*pmcheck*' -path '*guard*' -o -name puppet.conf " +
		"-o -name pmcheck.yaml -o -name pmcheck -type f"
	if out := s.Host.MustRun("sh", "-c", left); out != "" {
		t.Errorf("it leaves\n%s", out)
	}
	s.Host.MustRun("test", "-e", "/var/lib/pmcheck/holds/operator.json")
	run(t, s, manifest, unchanged)
}
