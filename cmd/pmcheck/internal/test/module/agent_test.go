//go:build linux

package module_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
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

// copyModule copies the module to a directory of modules.
func copyModule(t *testing.T, h *lab.Host, modules string) {
	t.Helper()
	cmd := h.Command("sh", "-c", `mkdir -p "$0" && tar -x -C "$0"`, modules+"/pmcheck")
	archive, err := exec.Command("tar", "-c", "-C", lab.File(t, "packaging/puppet"), ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = bytes.NewReader(archive)
	lab.Output(t, cmd)
}

// run makes the host's agent fetch the catalog of manifest from the host's own Puppet
// Server, and apply it. The agent must exit with one of the wanted statuses.
func (s *hostSite) run(manifest string, want ...int) (output string) {
	s.t.Helper()
	s.Puppet.SetSitePP(manifest)
	out, err := s.Host.Command("puppet", "agent", "--test", "--color=false").CombinedOutput()
	if got := exitStatus(s.t, err); !slices.Contains(want, got) {
		s.t.Errorf("the exit status of puppet agent is %d, want one of %v\n%s\n%s", got, want, manifest, out)
	}
	return string(out)
}

// class returns a declaration of class pmcheck that installs the package on the host, with
// further parameters.
func (s *hostSite) class(parameters string) string {
	sum := strings.Fields(s.Host.MustRun("sha256sum", debFile))[0]
	return fmt.Sprintf("class { 'pmcheck':\n  package_source => 'file://%s',\n  package_sha256 => '%s',\n  %s\n}\n",
		debFile, sum, parameters)
}

// daemon returns the process id of the daemon.
func (s *hostSite) daemon() string {
	s.t.Helper()
	return s.Host.MustRun("systemctl", "show", "--property=MainPID", "--value", "pmcheck.service")
}

// testModule tests the module with the real agent and Puppet Server of the host.
func (s *hostSite) testModule() {
	s.t.Helper()
	for _, step := range []struct {
		name string
		test func(*hostSite)
	}{
		{"another package than expected", (*hostSite).testChecksum},
		{"install", (*hostSite).testInstall},
		{"held", (*hostSite).testHeld},
		{"settings that pmcheck does not know", (*hostSite).testUnknownSetting},
	} {
		s.t.Run(step.name, func(t *testing.T) { step.test(s.with(t)) })
	}
}

func (s *hostSite) testChecksum() {
	s.run(fmt.Sprintf("class { 'pmcheck': package_source => 'file://%s', package_sha256 => '%064d' }", debFile, 0),
		failed, mixed)
	if out, err := s.Host.Run("pmcheck", "version"); err == nil {
		s.t.Errorf("a package with the wrong checksum is installed: %s", out)
	}
}

func (s *hostSite) testInstall() {
	manifest := s.class("")
	s.run(manifest, changed)
	s.waitForAnswer(200, lab.ServingBody)
	for _, unit := range []string{"pmcheck.service", "pmcheck.socket", "pmcheck-guard@puppetserver.service"} {
		if out, err := s.Host.Run("systemctl", "is-enabled", unit); err != nil {
			s.t.Errorf("%s is %s", unit, out)
		}
	}
	for _, unit := range []string{"pmcheck-guard@", "pmcheck-guard-reload@", "pmcheck-guard-reloaded@"} {
		if out, err := s.Host.Run("systemctl", "is-active", unit+"puppetserver.service"); err != nil {
			s.t.Errorf("%s is %s", unit, out)
		}
	}
	s.t.Log(s.run(manifest, unchanged))

	// An RPM leaves the guard of a server that runs as it is now: enabled, and not started.
	s.Host.MustRun("systemctl", "stop", "pmcheck-guard@puppetserver.service")
	s.run(manifest, changed)
	started := "until systemctl --quiet is-active pmcheck-guard@puppetserver.service; do sleep 0.1; done"
	if out, err := s.Host.Run("timeout", "30", "sh", "-c", started); err != nil {
		s.t.Errorf("the guard of a server that runs is not started, so its next stop is not guarded: %v, %s", err, out)
	}
}

// testHeld changes the configuration of a master with two holds, one of them until the next
// reboot. A reload is enough.
func (s *hostSite) testHeld() {
	s.Host.MustRun("pmcheck", "drain", "--reason", "the operator's own")
	s.Host.MustRun("pmcheck", "maint", "--hold", "other", "--until-reboot")
	s.waitForAnswer(503, "maint")
	answers := s.Record(20 * time.Millisecond)

	before := s.daemon()
	s.run(s.class("probe => { interval => '3s' }, log => { level => 'debug' },"), changed)
	if got := s.Host.MustRun("pmcheck", "config"); !strings.Contains(got, "3s") {
		s.t.Errorf("the configuration is not the new one:\n%s", got)
	}
	if got := s.daemon(); got != before {
		s.t.Errorf("the daemon was restarted (process %s, now %s) where a reload is enough", before, got)
	}

	answers.Stop().AssertOnly("503 maint")
	s.Host.MustRun("pmcheck", "ready", "--hold", "other")
	s.waitForAnswer(503, "drain")
	s.Host.MustRun("pmcheck", "ready")
	s.waitForAnswer(200, lab.ServingBody)
}

func (s *hostSite) testUnknownSetting() {
	const file = "/etc/pmcheck/pmcheck.yaml"
	before := s.Host.MustRun("cat", file)
	out := s.run(s.class("settings => { probe => { intervall => '3s' } },"), failed, mixed)
	if !strings.Contains(out, "probe.intervall") {
		s.t.Errorf("the agent's output does not name probe.intervall:\n%s", out)
	}
	if got := s.Host.MustRun("cat", file); got != before {
		s.t.Errorf("the bad configuration was written:\n%s", got)
	}
	s.waitForAnswer(200, lab.ServingBody)
}
