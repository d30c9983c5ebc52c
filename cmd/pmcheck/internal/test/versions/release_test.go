package versions_test

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	slow = time.Minute     // bounds what takes seconds on an idle machine
	boot = 5 * time.Minute // bounds the start of a Puppet Server on a busy one
)

// masterBackend has the health check that README.md recommends, with a shorter interval. The
// other server has no check, so it is always UP.
const masterBackend = `
global
    node lb1
listen puppet
    bind :8141
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    timeout check 2s
    default-server inter 500ms fall 2 rise 1
    server m1 %s check port 9200
    server m2 127.0.0.10:8140
`

// lent is the release whose Puppet Server serves behind the HAProxy of a release without one.
const lent = "trixie"

func TestMain(m *testing.M) { lab.Main(m) }

// tried returns all releases if PMCHECK_LONG is set, as make versions does, otherwise those that differ most from
// Debian 12, on which the other suites run.
func tried(all []lab.Release, others ...string) []lab.Release {
	return slices.DeleteFunc(all, func(r lab.Release) bool {
		return !lab.Long() && slices.Contains(others, r.Suite)
	})
}

// TestEachRelease boots a host of each release. Its apt installs, upgrades and purges the package, first that of the
// commit before, then what is in the tree now. In between the master is operated as the HAProxy of the release sees it.
func TestEachRelease(t *testing.T) {
	lab.Real(t)
	older, newer := before(t), lab.Packages(t, lab.File(t, ""), "")
	for _, release := range tried(lab.Releases(), "bookworm", "forky") {
		t.Run(release.Suite, func(t *testing.T) {
			network := lab.StartNetwork(t)
			host := network.BootRelease(release.Suite, release.Suite)
			site := lab.NewSite(t, lab.SiteOptions{Host: host})
			if release.Master {
				site = startMaster(t, host)
			}
			testUpgrade(t, site, network.Serve(older), network.Serve(newer))
			if !release.Master {
				site = startMaster(t, network.BootRelease(lent, lent))
				site.Install(lab.DEB(t, ""))
			}
			t.Logf("measured: installed, nothing configured: 200 after %v", site.WaitServing(slow))
			testMaster(t, site, host)
			host.MustRun("apt-get", "-qy", "purge", "pmcheck")
			if left := host.MustRun("find", "/etc", "/usr", "/var/lib", "-xdev", "-name", "*pmcheck*"); left != "" {
				t.Errorf("left behind:\n%s", left)
			}
		})
	}
}

// startMaster starts the Puppet Server of a host, and returns a site without pmcheck.
func startMaster(t *testing.T, host *lab.Host) *lab.Site {
	t.Helper()
	master := host.StartPuppetMaster(lab.PuppetMasterOptions{HeapMB: 600})
	master.WaitReady(boot)
	return lab.NewSite(t, lab.SiteOptions{Puppet: master})
}

// before returns the packages of the commit before, built as a source archive of it builds them.
func before(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	archive := exec.Command("sh", "-c", `git archive HEAD^ >"$0.tar" && tar -xf "$0.tar" -C "$0"`, tree)
	archive.Dir = lab.File(t, "")
	if err := lab.RunOutside(archive); err != nil {
		t.Fatalf("the commit before is not here (a shallow clone?): %v", err)
	}
	return lab.Packages(t, tree, "")
}

// apt installs or upgrades the package from the repository that a network serves, and no other.
func apt(host *lab.Host, url string) {
	host.MustRun("sh", "-c", "rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*")
	host.WriteFile("/etc/apt/sources.list.d/lab.sources",
		"Types: deb\nURIs: "+url+"/repository/deb\nSuites: ./\nTrusted: yes\n", 0o644)
	host.MustRun("apt-get", "-q", "update")
	host.MustRun("apt-get", "-qy", "-o", "Dpkg::Options::=--force-confold", "install", "pmcheck")
}

// testUpgrade upgrades a held master: every check is answered, holds and settings stay, and the release's systemd
// understands every line of the units.
func testUpgrade(t *testing.T, site *lab.Site, older, newer string) {
	t.Helper()
	host := site.Host
	apt(host, older)
	const settings = "log: {level: debug}"
	host.WriteFile("/etc/pmcheck/pmcheck.yaml", settings+"\n", 0o644)
	host.MustRun("pmcheck", "drain", "--now", "--reason", "kept")
	site.WaitRefusal("drain", slow)
	answers := site.RecordOverlapping(10 * time.Millisecond)
	apt(host, newer)
	answers.Stop().AssertOnly("503 drain")
	got := host.MustRun("sh", "-c", "cat /etc/pmcheck/pmcheck.yaml /var/lib/pmcheck/holds/*.json")
	if !strings.HasPrefix(got, settings+"\n") || !strings.Contains(got, `"kept"`) {
		t.Errorf("after the upgrade settings and holds are\n%s", got)
	}
	host.MustRun("pmcheck", "ready")
	out, err := host.Run("sh", "-c", "cd /usr/lib/systemd/system; "+
		"systemd-analyze verify --man=no pmcheck*.service pmcheck*.socket pmcheck*.path")
	for line := range strings.Lines(out) {
		// systemd 247 does not know PrivateIPC= yet.
		if err != nil || strings.Contains(line, "pmcheck") && !strings.Contains(line, "'PrivateIPC'") {
			t.Errorf("systemd-analyze verify: %v: %s", err, line)
		}
	}
}

// testMaster operates a master in front of which is the HAProxy of a host.
func testMaster(t *testing.T, site *lab.Site, balancer *lab.Host) {
	t.Helper()
	host, master := site.Host, site.Puppet
	t.Logf("measured: %s; HAProxy: %s", host.MustRun("dpkg-query", "-W", "-f", "${Package} ${Version}", master.Unit),
		balancer.MustRun("haproxy", "-v"))
	host.MustRun("pmcheck", "check")
	site.WaitFinding(check.CheckUnit, check.OK, slow)
	if master.Unit == "puppetserver" {
		site.WaitFinding(check.CheckJRuby, check.OK, slow)
		site.WaitKnown(slow)
	}
	site.HAProxy = balancer.StartHAProxy(fmt.Sprintf(masterBackend, master.Address()))
	site.HAProxy.WaitStatus("puppet", "m1", "UP", boot)
	for _, o := range []struct{ line, want string }{ // the states that HAProxy goes through
		{"pmcheck drain --wait", "UP, NOLB"},
		{"pmcheck ready --wait", "NOLB, UP"},
		{"systemctl restart UNIT", "UP, NOLB, UP"},
		{"systemctl kill -s KILL UNIT", "UP, DOWN"},
		{"systemctl start UNIT", "DOWN, UP"},
		{"systemctl stop UNIT", "UP, NOLB"}, // held until it serves again
	} {
		operate(t, site, o.want, strings.ReplaceAll(o.line, "UNIT", master.Unit))
	}
	host.MustRun("systemctl", "start", master.Unit)
	site.WaitServing(boot)
	master.IssueCert(host, master.Certname(), nil)
	site.WaitFinding(check.CheckExpiry, check.CertificateOnDisk, slow)
	site.WaitServing(slow)
	master.ExpireCRL()
	if master.Unit != "puppetserver" { // it loads CRLs only when it starts; a stop would be held until it serves again
		host.MustRun("systemctl", "kill", "-s", "KILL", master.Unit)
		site.HAProxy.WaitStatus("puppet", "m1", "DOWN", slow)
		host.MustRun("systemctl", "start", master.Unit)
	}
	site.WaitRefusal("unhealthy: "+string(puppetclient.CRLExpired), slow)
	site.HAProxy.WaitStatus("puppet", "m1", "DOWN", slow)
}

// operate types a command. HAProxy must go through the wanted states until the last one.
func operate(t *testing.T, site *lab.Site, want, line string) {
	t.Helper()
	record := lab.StartRecord(t, 50*time.Millisecond, func() string {
		state, _, _ := strings.Cut(site.HAProxy.Status("puppet", "m1"), " ")
		return state
	})
	site.Host.MustRun("sh", "-c", line)
	last := want[strings.LastIndex(want, " ")+1:]
	site.HAProxy.WaitStatus("puppet", "m1", last, boot)
	got := record.Stop().Told()
	if !strings.HasSuffix(got, last) { // the record has not looked since
		got += ", " + last
	}
	if got != want {
		t.Errorf("%s: HAProxy went through %s, want %s", line, got, want)
	}

	// The guard starts after the master. A stop before that is not drained, unless the master is held.
	if last == "UP" {
		site.WaitStatus(slow, func(s lab.Status) error {
			if !s.Guarded {
				return errors.New("the guard has not started")
			}
			return nil
		})
	}
}
