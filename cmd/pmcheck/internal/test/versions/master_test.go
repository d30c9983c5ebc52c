//go:build linux

package versions_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const boot = 5 * time.Minute // bounds the start of a Puppet Server on a busy machine

// masterBackend has the health check that README.md recommends, with a shorter interval. The
// other server has no check, so it is always UP.
const masterBackend = `
global
    node lb1
defaults
    mode tcp
    timeout connect 5s
    timeout client 30m
    timeout server 30m
listen puppet
    bind :8141
    option httpchk GET /?drain=404
    http-check disable-on-404
    http-check send-state
    default-server inter 500ms fall 2 rise 1
    server m1 %s check port 9200
    server m2 127.0.0.10:8140
`

// An operation is a command on a master, and the states that HAProxy goes through.
type operation struct {
	row, line string // the line has the unit in the place of UNIT
	want      string
}

func operations() []operation {
	return []operation{
		{"`drain --wait`", "pmcheck drain --wait", "UP, NOLB"},
		{"`ready --wait`", "pmcheck ready --wait", "NOLB, UP"},
		{"`systemctl restart`, with the guard", "systemctl restart UNIT", "UP, NOLB, UP"},
		{"`kill -9`", "systemctl kill -s KILL UNIT", "UP, DOWN"},
		{"`systemctl start`", "systemctl start UNIT", "DOWN, UP"},
		{"`systemctl stop`, with the guard", "systemctl stop UNIT", "UP, NOLB"}, // held until it serves again
	}
}

// lent is the release whose Puppet Server serves behind the HAProxy of a release without one.
const lent = "trixie"

// TestMasterOfEachRelease boots a host of each release with the package and a Puppet Server,
// configures nothing in pmcheck, and operates the master as the HAProxy of the release sees it. A
// release without a Puppet Server has a host for its HAProxy, in front of the master of another.
func TestMasterOfEachRelease(t *testing.T) {
	lab.Real(t)
	deb := lab.DEB(t, "")
	results := &table{cells: map[[2]string]string{}}
	for _, release := range lab.Releases() {
		note := func(row, cell string) {
			t.Logf("%s: %s: %s", release.Suite, row, cell)
			results.note(row, release.Suite, cell)
		}
		t.Run(release.Suite, func(t *testing.T) {
			network := lab.StartNetwork(t)
			host := network.BootRelease(release.Suite, release.Suite)
			balancer, from := host, ""
			if !release.Master {
				host, from = network.BootRelease(lent, lent), " of Debian "+lent
				balancer.Copy(deb, "/root/pmcheck.deb", 0o644)
				balancer.MustRun("dpkg", "--install", "/root/pmcheck.deb") // for its exposure alone
			}
			master := host.StartPuppetMaster(lab.PuppetMasterOptions{HeapMB: 600})
			site := lab.NewSite(t, lab.SiteOptions{Puppet: master})
			master.WaitReady(boot)
			site.Install(deb)
			note("Master", host.MustRun("dpkg-query", "-W", "-f", "${Package} ${Version}", master.Unit)+from)
			note("HAProxy", haproxyVersion(balancer))
			note("Installed, nothing configured", fmt.Sprintf("200 after %.1f s", site.WaitServing(slow).Seconds()))
			host.MustRun("pmcheck", "check")
			site.WaitFinding(check.CheckUnit, check.OK, slow)
			checks := "`unit`"
			if master.Unit == "puppetserver" {
				site.WaitFinding(check.CheckJRuby, check.OK, slow)
				checks += ", `jruby`"
			}
			note("Checks that are ok", checks)
			site.HAProxy = balancer.StartHAProxy(fmt.Sprintf(masterBackend, master.Address()))
			site.HAProxy.WaitStatus("puppet", "m1", "UP", boot)
			for _, o := range operations() {
				note(o.row, operate(t, site, host, o.want, strings.ReplaceAll(o.line, "UNIT", master.Unit)))
			}
			host.MustRun("systemctl", "start", master.Unit)
			site.WaitServing(boot)
			master.IssueCert(host, master.Certname(), nil)
			site.WaitFinding(check.CheckExpiry, check.CertificateOnDisk, slow)
			site.WaitServing(slow)
			note("A certificate renewed on disk, not loaded", "200, and "+string(check.CertificateOnDisk))
			master.ExpireCRL()
			site.WaitRefusal("unhealthy: "+string(puppetclient.CRLExpired), slow)
			site.HAProxy.WaitStatus("puppet", "m1", "DOWN", slow)
			note("CRL expired", "503 "+string(puppetclient.CRLExpired)+", DOWN")
			note("Exposure of pmcheck.service", exposure(t, balancer))
		})
	}
	finish(t, results)
}

// haproxyVersion returns the version of the HAProxy that is installed on the host.
func haproxyVersion(host *lab.Host) string {
	return regexp.MustCompile(`\d+(\.\d+)+`).FindString(host.MustRun("haproxy", "-v"))
}

// exposure returns what the host's systemd says of the sandbox of the daemon.
func exposure(t *testing.T, host *lab.Host) string {
	t.Helper()
	out := host.MustRun("systemd-analyze", "security", "--no-pager", "pmcheck.service")
	found := regexp.MustCompile(`exposure level for pmcheck.service: ([0-9.]+)`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("systemd-analyze says %s", out)
	}
	return found[1]
}

// operate types a command, and returns the states that HAProxy went through until the last
// wanted one.
func operate(t *testing.T, site *lab.Site, host *lab.Host, want, line string) string {
	t.Helper()
	record := lab.StartRecord(t, 50*time.Millisecond, func() string {
		state, _, _ := strings.Cut(site.HAProxy.Stat("puppet", "m1").Status, " ")
		return state
	})
	host.MustRun("sh", "-c", line)
	last := want[strings.LastIndex(want, " ")+1:]
	site.HAProxy.WaitStatus("puppet", "m1", last, boot)
	var seen []string
	for _, change := range record.Stop().Changes() {
		seen = append(seen, change.Answer)
	}
	if seen[len(seen)-1] != last { // the record has not looked since
		seen = append(seen, last)
	}
	got := strings.Join(seen, ", ")
	if got != want {
		t.Errorf("%s: HAProxy went through %s, want %s", line, got, want)
	}
	return got
}
