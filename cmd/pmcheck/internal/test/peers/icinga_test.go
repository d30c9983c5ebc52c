//go:build linux

package peers_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestIcingaLoadsTheExample: Icinga makes a service of each Puppet master, and pmcheck has
// every argument of the commands.
func TestIcingaLoadsTheExample(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	program := lab.Need(t, "icinga2", "icinga2-bin")
	dir := t.TempDir()
	config := filepath.Join(dir, "icinga2.conf")
	lab.Write(t, config, `include <itl>
include "`+example(t, "icinga/pmcheck.conf")+`"
object Endpoint NodeName {}
object Zone ZoneName { endpoints = [ NodeName ] }
object Endpoint "puppet1" {}
object Zone "puppet1" {
  endpoints = [ "puppet1" ]
  parent = ZoneName
}
object Host "puppet1" {
  zone = ZoneName
  check_command = "pmcheck-check"
  vars.puppet_master = true
  vars.puppet_services = [ "ca" ]
  address = "192.0.2.11"
  vars.agent_endpoint = name
}
object Host "puppet2" {
  zone = ZoneName
  check_command = "pmcheck-check"
  vars.puppet_master = true
  vars.pmcheck_host = "https://" + name + ":9200" // without an agent
}
object Host "lb1" { zone = ZoneName; check_command = "pmcheck-check"; vars.puppet_pool = true }
object NotificationCommand "mail" { command = [ "mail" ] }
object User "admin" {}
apply Notification "puppetserver-warning" to Service {
  import "puppetserver-warning"
  command = "mail"
  users = [ "admin" ]
  assign where service.name == "puppetserver"
}
`)
	out := must(t, exec.Command(program, "daemon", "-C", "-c", config, "-D", "RunAsUser=root", "-D", "RunAsGroup=root",
		"-D", "DataDir="+dir, "-D", "CacheDir="+dir, "-D", "LogDir="+dir, "-D", "NodeName=icinga", "-D", "ZoneName=main"))
	for _, want := range []string{
		"5 Services", // puppetserver on both masters, puppetserver-ca and -agent on one, puppetserver-pool
		"3 Hosts",
		"2 Notifications",
		"2 Dependencies",
	} {
		if !strings.Contains(out, "Instantiated "+want+".") {
			t.Errorf("Icinga does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "warning/") {
		t.Errorf("Icinga warns:\n%s", out)
	}

	pmcheck := lab.Build(t)
	commands := regexp.MustCompile(`(?s)\n  command = \[ "pmcheck", "(\w+)", "--nagios" \].*?\n}`).
		FindAllStringSubmatch(lab.Read(t, example(t, "icinga/pmcheck.conf")), -1)
	if len(commands) != 2 {
		t.Fatalf("%d commands of pmcheck, want 2", len(commands))
	}
	for _, command := range commands {
		help := must(t, exec.Command(pmcheck, command[1], "--help"))
		for _, argument := range regexp.MustCompile(`"(--[a-z-]+)" =`).FindAllStringSubmatch(command[0], -1) {
			if !strings.Contains(help, argument[1]+" ") && !strings.Contains(help, argument[1]+",") {
				t.Errorf("pmcheck %s has no %s", command[1], argument[1])
			}
		}
	}
}
