//go:build linux

package module_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// puppet8 has Puppet 8 and the modules that go with it: puppetlabs-haproxy 8, stdlib 9.
// This machine has Puppet 7 and the modules of that time.
var puppet8 = lab.Release{
	Suite: "trixie",
	Packages: []string{"systemd", "systemd-sysv", "dbus", "curl", "iproute2", "procps", "openssl", "haproxy",
		"puppet-agent", "puppet-module-puppetlabs-stdlib", "puppet-module-puppetlabs-concat",
		"puppet-module-puppetlabs-haproxy", "puppet-module-puppetlabs-postgresql", "puppet-module-camptocamp-systemd",
		"ruby-rspec-puppet", "facterdb"},
}

// site8 is what a site with its own drop-ins and HAProxy on the same host declares. Without
// PuppetDB nothing is exported, so it collects what is there.
const site8 = `
class { 'pmcheck':
  package_source => 'file:///root/pmcheck.deb',
  package_sha256 => '%s',
  listen         => ':9300',
  guard          => { turn => '2m' },
}
include pmcheck::balancermember
systemd::dropin_file { 'backlog.conf':
  unit    => 'pmcheck.socket',
  content => "[Socket]\nBacklog=128\n",
}
include haproxy
haproxy::listen { 'puppet':
  collect_exported => false,
  ipaddress        => '*',
  ports            => '18140',
  mode             => 'tcp',
  options          => { 'option' => ['httpchk GET /'] },
}
Haproxy::Balancermember <| |>
`

// TestModuleOnPuppet8 runs the specs, over every system in metadata.json, and applies the
// module twice beside a drop-in of the site's own.
func TestModuleOnPuppet8(t *testing.T) {
	lab.Real(t)
	if os.Getenv("PMCHECK_LONG") == "" {
		t.Skip("makes a root of another Debian release; part of make versions")
	}
	h := lab.StartNetwork(t).BootFrom(puppet8.Root(t), "m8")
	t.Logf("puppet %s, puppetlabs-haproxy %s", h.MustRun("puppet", "--version"),
		h.MustRun("dpkg-query", "-W", "-f", "${Version}", "puppet-module-puppetlabs-haproxy"))
	if version := h.MustRun("puppet", "--version"); !strings.HasPrefix(version, "8.") {
		t.Fatalf("puppet is %s", version)
	}
	copyModule(t, h, "/root/modules")

	t.Run("spec", func(t *testing.T) {
		out, err := h.Run("sh", "-c", "cd /root/modules/pmcheck && MODULE_PATH=/root/modules:"+modules+" rspec 2>&1")
		if err != nil || !strings.Contains(out, " 0 failures") {
			t.Fatalf("rspec: %v\n%s", err, out)
		}
		t.Log(out[strings.LastIndex(out, "Finished"):])
	})
	t.Run("apply", func(t *testing.T) {
		h.Copy(lab.DEB(t, "0.0.1"), debFile, 0o644)
		sum := strings.Fields(h.MustRun("sha256sum", debFile))[0]
		h.WriteFile("/root/site.pp", fmt.Sprintf(site8, sum), 0o644)
		apply := func(want int) {
			t.Helper()
			out, err := h.Command("puppet", "apply", "--detailed-exitcodes", "--color=false",
				"--modulepath=/root/modules:"+modules, "/root/site.pp").CombinedOutput()
			if got := exitStatus(t, err); got != want {
				t.Fatalf("puppet apply ends with %d, want %d:\n%s", got, want, out)
			}
		}
		apply(changed)
		apply(unchanged)
		lab.WaitFor(t, 20*time.Second, 200*time.Millisecond, func() error {
			out, err := h.Run("curl", "-s", "localhost:9300/")
			if err == nil && !strings.HasPrefix(out, "unknown: ") {
				err = fmt.Errorf("without a Puppet Server, pmcheck answers %q", out)
			}
			return err
		})
		want := fmt.Sprintf("server m8 %s:8140 check fall 3 inter 2s maxconn 100 port 9300 rise 2", h.Address)
		if got := h.MustRun("cat", "/etc/haproxy/haproxy.cfg"); !strings.Contains(got, want) {
			t.Errorf("haproxy.cfg lacks the line %q:\n%s", want, got)
		}
		if got := h.MustRun("systemctl", "show", "-P", "Backlog", "pmcheck.socket"); got != "128" {
			t.Errorf("the site's drop-in has no effect: the backlog is %s", got)
		}
	})
}
