package peers_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// pluginDir has the monitoring plugins of Debian.
const pluginDir = "/usr/lib/nagios/plugins"

// TestCheckHTTPIsACompletePlugin runs the plugin as monitoring.md shows it. It asks from an address
// of the network, so that it could be taken for a balancer.
func TestCheckHTTPIsACompletePlugin(t *testing.T) {
	lab.Real(t)
	lab.Output(t, exec.Command("ip", "address", "add", first+"/32", "dev", "lo"))
	t.Cleanup(func() { lab.Output(t, exec.Command("ip", "address", "delete", first+"/32", "dev", "lo")) })
	r := lab.StartSite(t, lab.SiteOptions{Listen: first + ":9200"})
	program := lab.Need(t, filepath.Join(pluginDir, "check_http"), "monitoring-plugins-basic")
	const documented = `\ncheck_http (-H )puppet1( -p 9200 .*)`
	line := regexp.MustCompile(documented).FindStringSubmatch(lab.Read(t, lab.File(t, "packaging/doc/monitoring.md")))
	if line == nil {
		t.Fatalf("monitoring.md has no line %q", documented)
	}
	command := program + " " + line[1] + first + line[2]
	const ok, critical = 0, 2
	for _, step := range []struct {
		change func()
		want   int
		says   string
	}{
		{func() {}, ok, "HTTP OK: Status line output matched \"200\""},
		{func() {}, ok, "HTTP OK"},
		// It has asked twice within a second, and is no blocker.
		{func() { r.MustRun("drain", "--wait", "--timeout=20s") }, ok, "HTTP OK"},
		{func() { r.MustRun("maint", "--hold", "other") }, ok, "HTTP OK"},
		{func() { r.SetMaster(checktest.Stopped) }, critical,
			"HTTP CRITICAL - Invalid HTTP response received from host on port 9200: HTTP/1.1 503"},
		{r.Kill, critical, "connect to address " + first + " and port 9200: Connection refused"},
	} {
		step.change()
		lab.WaitFor(t, 20*time.Second, 50*time.Millisecond, func() error {
			cmd := exec.Command("sh", "-c", command)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != step.want || !strings.HasPrefix(string(out), step.says) {
				return fmt.Errorf("%s (%v), want %s", out, err, step.says)
			}
			return nil
		})
	}
}

// TestIcingaLoadsTheExample: Icinga makes a service of each Puppet master, which asks for the verdict
// alone, as the plugin in monitoring.md does.
func TestIcingaLoadsTheExample(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	program := lab.Need(t, "icinga2", "icinga2-bin")
	dir := t.TempDir()
	config := filepath.Join(dir, "icinga2.conf")
	lab.Write(t, config, `include <itl>
include <plugins>
const PluginDir = "`+pluginDir+`"
include "`+example(t, "icinga/pmcheck.conf")+`"
object Host "puppet1" {
  check_command = "hostalive"
  address = "192.0.2.11"
  vars.puppet_master = true
  vars.puppet_services = [ "ca" ]
}
object Host "lb1" {
  check_command = "hostalive"
  address = "192.0.2.20"
}
`)
	out := lab.Output(t, exec.Command(program, "daemon", "-C", "-c", config, "-D", "RunAsUser=root",
		"-D", "RunAsGroup=root", "-D", "DataDir="+dir, "-D", "CacheDir="+dir, "-D", "LogDir="+dir,
		"-D", "NodeName=icinga", "-D", "ZoneName=main"))
	// puppetserver and puppetserver-ca on the master alone
	if !strings.Contains(out, "Instantiated 2 Services.") || !strings.Contains(out, "Instantiated 2 Hosts.") {
		t.Errorf("Icinga does not find 2 services and 2 hosts:\n%s", out)
	}
	if strings.Contains(out, "warning/") {
		t.Errorf("Icinga warns:\n%s", out)
	}

	const asked = `?drain=200&maint=200"`
	if n := strings.Count(lab.Read(t, example(t, "icinga/pmcheck.conf")), asked); n != 2 {
		t.Errorf("%d services ask %s, want 2", n, asked)
	}
}
