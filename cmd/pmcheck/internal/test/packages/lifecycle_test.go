package packages_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// startTime is how long Puppet Server may take to start on a busy machine.
const startTime = 4 * time.Minute

// TestPackageLifecycleOnAMaster uses one host with a real Puppet Server for all subtests.
func TestPackageLifecycleOnAMaster(t *testing.T) {
	s := boot(t, "master")
	master := s.Host.StartPuppetMaster(lab.PuppetMasterOptions{})
	s.apt(older)
	master.WaitReady(startTime)
	s.WaitServing(time.Minute)
	s.waitForOutput(10*time.Second, "active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")

	for _, part := range []struct {
		name string
		test func(*hostSite)
	}{
		{"directories", (*hostSite).assertDirectories},
		{"upgrades", (*hostSite).upgrade},
		{"a reboot of a held master", (*hostSite).rebootHeld},
		{"watchdog", (*hostSite).watchdog},
		{"stop", (*hostSite).stopAndStart},
		{"a hold outlives the package", (*hostSite).removeHeld},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(s.with(t)) })
	}
	s.assertPrints("running", "systemctl", "is-system-running")
}

// assertDirectories asserts the owners and modes that decide who may write holds.
func (s *hostSite) assertDirectories() {
	for path, want := range map[string]string{
		"/var/lib/pmcheck":          "755 root root",
		"/var/lib/pmcheck/holds":    "755 root root",
		"/run/pmcheck":              "755 root root",
		"/run/pmcheck/holds":        "755 root root",
		"/run/pmcheck/pmcheck.sock": "666 root root",
	} {
		s.assertPrints(want, "stat", "-c", "%a %U %G", path)
	}
	pid := s.Host.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service")
	s.assertPrints("pmcheck", "stat", "-c", "%U", "/proc/"+pid)
	// A mode that the administrator has set is kept at each boot and upgrade.
	s.Host.MustRun("chmod", "2775", "/var/lib/pmcheck/holds")
	s.Host.MustRun("systemd-tmpfiles", "--create", "pmcheck.conf")
	s.assertPrints("2775", "stat", "-c", "%a", "/var/lib/pmcheck/holds")
	s.Host.MustRun("chmod", "755", "/var/lib/pmcheck/holds")
}

func (s *hostSite) upgrade() {
	answers := s.RecordOverlapping(10 * time.Millisecond)
	for _, version := range []string{newer, older, newer} {
		s.apt(version)
	}
	answers.Stop().AssertOnly("200 " + lab.ServingBody)
	s.assertPrints("pmcheck "+newer, "pmcheck", "version")
	s.assertPrints("", "find", "/var/lib/pmcheck/holds", "-name", "*.json")
	s.assertPrints("active", "systemctl", "is-active", "pmcheck-guard@puppetserver.service")
}

// rebootHeld reboots the host: a hold outlives that, unless it was set until reboot, and the daemon never
// answers 200 while it starts.
func (s *hostSite) rebootHeld() {
	s.Host.MustRun("pmcheck", "drain", "--now", "--hold", "upgrade", "--reason", "new kernel")
	s.Host.MustRun("pmcheck", "maint", "--now", "--hold", "cables", "--until-reboot")
	s.WaitRefusal("maint", 10*time.Second)
	answers := s.Record(10 * time.Millisecond)
	answers.WaitMore(10)
	s.Host.Reboot()
	answers.WaitMore(10)
	s.WaitRefusal("drain", time.Minute)
	answers.WaitMore(10)
	answers.Stop()
	s.TB.Logf("measured: answers across a reboot while held: %s", answers)
	holds := s.Status().Holds
	if len(holds) != 1 || holds[0].Holder != "upgrade" || holds[0].Reason != "new kernel" {
		s.TB.Errorf("holds after the reboot: %+v, want that of upgrade", holds)
	}
	if got := answers.Told(); got != "503 maint, 503 drain" || answers.Count(lab.NoAnswer) == 0 {
		s.TB.Errorf("across the reboot balancers were told %s; want 503 maint, then 503 drain", got)
	}
	s.Host.MustRun("pmcheck", "ready", "--hold", "upgrade")
	s.WaitServing(startTime)
	s.waitForOutput(startTime, "active", "systemctl", "is-active", "puppetserver")
}

func (s *hostSite) watchdog() {
	// The daemon answers before it has reported that it is ready, and systemd watches it only then.
	s.waitForOutput(20*time.Second, "active", "systemctl", "is-active", "pmcheck.service")
	pid := s.Host.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service")
	s.Host.MustRun("kill", "-STOP", pid)
	stopped := time.Now()
	s.waitForOutput(time.Minute, "watchdog", "sh", "-c", "journalctl -o cat -u pmcheck.service | grep -om1 watchdog")
	s.WaitServing(20 * time.Second)
	s.TB.Logf("measured: SIGSTOP to an answer of 200: %v", time.Since(stopped).Round(100*time.Millisecond))
	if now := s.Host.MustRun("systemctl", "show", "-P", "MainPID", "pmcheck.service"); now == pid {
		s.TB.Errorf("the daemon is still process %s", now)
	}
}

// stopAndStart asserts that a request to the port does not start a stopped service.
func (s *hostSite) stopAndStart() {
	s.Host.MustRun("systemctl", "stop", "pmcheck")
	for _, unit := range []string{"pmcheck.service", "pmcheck.socket", "pmcheck-status.socket"} {
		s.assertPrints("inactive", "systemctl", "is-active", unit)
	}
	if _, got, err := s.Ask("/"); err == nil || !strings.Contains(err.Error(), "refused") {
		s.TB.Errorf("a stopped pmcheck answers %q, %v; want connection refused", got, err)
	}
	s.assertPrints("inactive", "systemctl", "is-active", "pmcheck.service")
	s.Host.MustRun("systemctl", "start", "pmcheck")
	s.WaitServing(10 * time.Second)
	s.assertPrints("active", "systemctl", "is-active", "pmcheck.socket")
	s.Host.MustRun("pmcheck", "status")
}

// removeHeld installs the package where a hold is: the host does not serve, as one that its installer has held. What
// was enabled is disabled by the removal, and enabled again.
func (s *hostSite) removeHeld() {
	s.Host.MustRun("systemctl", "disable", "pmcheck-guard@puppet-master.service")
	const links = "find /etc/systemd/system -type l -name '*pmcheck*' | sort"
	enabled := s.Host.MustRun("sh", "-c", links)
	s.Host.MustRun("pmcheck", "maint", "--now", "--reason", "to be installed again")
	s.Host.MustRun("dpkg", "--remove", "pmcheck")
	s.assertPrints("", "sh", "-c", links)
	s.Host.MustRun("test", "-e", "/var/lib/pmcheck/holds/operator.json")
	s.assertPrints("active", "systemctl", "is-active", "puppetserver")
	s.install(newer)
	s.WaitRefusal("maint", 10*time.Second)
	s.assertPrints(enabled, "sh", "-c", links)
}
