package module_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// puppet returns a Debian release with Puppet 8 or OpenVox 9, and the modules that go with it:
// puppetlabs-haproxy 8, stdlib 9. This machine has Puppet 7 and the modules of that time.
func puppet(suite string, packages ...string) lab.Release {
	return lab.Release{Suite: suite, Packages: append([]string{"systemd", "systemd-sysv", "dbus", "mount", "curl",
		"iproute2", "procps", "openssl", "haproxy", "puppet-module-puppetlabs-stdlib", "puppet-module-puppetlabs-concat",
		"puppet-module-puppetlabs-haproxy", "puppet-module-camptocamp-systemd", "puppet-module-puppetlabs-apt",
		"ruby-rspec-puppet",
		"facterdb"},
		packages...)}
}

// fullSite is what a site with its own drop-ins and HAProxy on the same host declares. Without
// PuppetDB nothing is exported, so it collects what is there.
const fullSite = `
class { 'pmcheck':
  listen => ':9300',
  guard  => { turn => '2m' },
}
include pmcheck::balancermember
include haproxy
haproxy::listen { 'puppet':
  collect_exported => false,
  ipaddress        => '*',
  ports            => '18140',
  mode             => 'tcp',
  options          => { 'option' => ['httpchk GET /'] },
}
Haproxy::Balancermember <| |>
systemd::dropin_file { 'backlog.conf':
  unit    => 'pmcheck.socket',
  content => "[Socket]\nBacklog=128\n",
}
`

// TestModuleOnEachPuppet runs the specs, over every system in metadata.json, and applies the module
// alone and then beside a drop-in of the site's own, each twice. The package is in the host's repositories.
func TestModuleOnEachPuppet(t *testing.T) {
	lab.RealLong(t)
	dist := lab.Packages(t, lab.File(t, ""), "")
	for _, c := range []struct {
		version string
		release lab.Release
		specs   string
	}{
		{"8.", puppet("trixie", "puppet-agent", "puppet-module-puppetlabs-postgresql"), ""},
		// Forky has no puppetlabs-postgresql.
		{"9.", puppet("forky", "openvox-agent"), "--exclude-pattern '**/database_spec.rb'"},
	} {
		t.Run(c.release.Suite, func(t *testing.T) {
			network := lab.StartNetwork(t)
			h := network.BootFrom(c.release.Root(t), "m1")
			version := h.MustRun("puppet", "--version")
			t.Logf("measured: puppet %s, puppetlabs-haproxy %s", version,
				h.MustRun("dpkg-query", "-W", "-f", "${Version}", "puppet-module-puppetlabs-haproxy"))
			if !strings.HasPrefix(version, c.version) {
				t.Fatalf("puppet is %s", version)
			}
			copyModule(t, h, "/root/modules")
			// OpenVox 9.0.0~rc1 cannot read the metadata of any module with the json 3 of forky; Ruby has an older one.
			h.WriteFile("/root/json.rb", `gem "json", "< 3"`, 0o644)
			h.MustRun("sh", "-c", "rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*")
			h.WriteFile("/etc/apt/sources.list.d/lab.sources",
				"Types: deb\nURIs: "+network.Serve(dist)+"/repository/deb\nSuites: ./\nTrusted: yes\n", 0o644)
			h.MustRun("apt-get", "-q", "update")
			testApplied(t, h)
			out, err := h.Run("sh", "-c", "cd /root/modules/pmcheck && RUBYOPT=-r/root/json.rb MODULE_PATH=/root/modules:"+
				modules+" rspec "+c.specs+" 2>&1")
			if err != nil || !strings.Contains(out, " 0 failures") {
				t.Fatalf("rspec: %v\n%s", err, out)
			}
		})
	}
}

func testApplied(t *testing.T, h *lab.Host) {
	t.Helper()
	for _, manifest := range []string{"include pmcheck", fullSite} {
		h.WriteFile("/root/site.pp", manifest, 0o644)
		for _, want := range []int{changed, unchanged} {
			exits(t, h.Command("env", "RUBYOPT=-r/root/json.rb", "puppet", "apply", "--detailed-exitcodes", "--color=false",
				"--modulepath=/root/modules:"+modules, "/root/site.pp"), want)
		}
	}
	h.MustRun("systemctl", "is-active", "pmcheck.service")
	h.MustRun("systemctl", "is-enabled", "pmcheck-guard@puppetserver.service")
	site := lab.NewSite(t, lab.SiteOptions{Host: h})
	site.Listen = net.JoinHostPort(h.Address, "9300")
	site.WaitRefusal("unhealthy: refused", 20*time.Second) // there is no Puppet Server
	want := fmt.Sprintf("server m1 %s:8140 check error-limit 20 fall 3 inter 2s maxconn 100 observe layer4 "+
		"on-error sudden-death port 9300 rise 2", h.Address)
	if got := h.MustRun("cat", "/etc/haproxy/haproxy.cfg"); !strings.Contains(got, want) {
		t.Errorf("haproxy.cfg lacks the line %q:\n%s", want, got)
	}
	if got := h.MustRun("systemctl", "show", "-P", "Backlog", "pmcheck.socket"); got != "128" {
		t.Errorf("the site's drop-in has no effect: the backlog is %s", got)
	}
}
