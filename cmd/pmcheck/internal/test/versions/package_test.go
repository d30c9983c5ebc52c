//go:build linux

package versions_test

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

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

// TestPackageOnEachRelease boots a host of each release, and installs, upgrades and purges the package
// with its apt from the repository: first that of the commit before, then what is in the tree now. The
// systemd and the lintian of the release check it.
func TestPackageOnEachRelease(t *testing.T) {
	lab.Real(t)
	older, newer := before(t), lab.Packages(t, lab.File(t, ""), "")
	results := &table{cells: map[[2]string]string{}}
	for _, release := range lab.Releases() {
		t.Run(release.Suite, func(t *testing.T) {
			network := lab.StartNetwork(t)
			host := network.BootRelease(release.Suite, release.Suite)
			site := lab.NewSite(t, lab.SiteOptions{Host: host})
			note := func(row, cell string) { results.note(row, release.Suite, cell) }
			note("systemd", regexp.MustCompile(`\d+`).FindString(host.MustRun("systemctl", "--version")))
			apt(host, network.Serve(older))
			// No Puppet has run here; TestMasterOfEachRelease has a master.
			if out, _ := host.Run("pmcheck", "check"); !strings.Contains(out, "no certificate of this host yet") {
				t.Errorf("pmcheck check says %s", out)
			}
			const settings = "log: {level: debug}"
			host.WriteFile("/etc/pmcheck/pmcheck.yaml", settings+"\n", 0o644)
			host.MustRun("pmcheck", "drain", "--now", "--reason", "kept")
			site.WaitRefusal("drain", slow)
			answers := site.RecordOverlapping(10 * time.Millisecond)
			apt(host, network.Serve(newer))
			answers.Stop().AssertOnly("503 drain")
			got := host.MustRun("sh", "-c", "cat /etc/pmcheck/pmcheck.yaml /var/lib/pmcheck/holds/*.json")
			if !strings.HasPrefix(got, settings+"\n") || !strings.Contains(got, `"kept"`) {
				t.Errorf("after the upgrade settings and holds are\n%s", got)
			}
			expected := tolerated()[release.Suite]
			assertUnits(t, host, expected)
			assertLintian(t, host, newer, expected)
			host.MustRun("apt-get", "-qy", "purge", "pmcheck")
			if left := host.MustRun("find", "/etc", "/usr", "/var/lib", "-xdev", "-name", "*pmcheck*"); left != "" {
				t.Errorf("left behind:\n%s", left)
			}
			note("`apt install` from a repository, upgrade of a held master, purge", "every check was answered")
			note("`systemd-analyze verify` on the units", cmp.Or(expected.units, "no warning"))
			note("lintian", cmp.Or(expected.lintian, "no error, no warning"))
		})
	}
	finish(t, results)
}

// What the tools of a release complain of although it is right: lines with one of the marks.
type complaints struct {
	marks          *regexp.Regexp
	units, lintian string // for the table
}

func tolerated() map[string]complaints {
	return map[string]complaints{"bullseye": {
		marks: regexp.MustCompile("Unknown key name 'PrivateIPC'|" +
			"systemd-service-file-outside-lib|mismatched-override|" + // overrides are not compared as before
			"statically-linked-binary|systemd-service-file-refers-to-unusual-wantedby-target"),
		units:   "`PrivateIPC=` is not known yet",
		lintian: "wants the units in /lib, which later ones call an error",
	}}
}

// besides returns the lines that match the pattern and are not expected.
func (c complaints) besides(out, pattern string) (lines []string) {
	match := regexp.MustCompile(pattern)
	for line := range strings.Lines(out) {
		if match.MatchString(line) && (c.marks == nil || !c.marks.MatchString(line)) {
			lines = append(lines, line)
		}
	}
	return lines
}

// assertUnits asserts that the release's systemd understands every line of the units.
func assertUnits(t *testing.T, host *lab.Host, expected complaints) {
	t.Helper()
	out, err := host.Run("sh", "-c", `systemd-analyze verify --man=no /usr/lib/systemd/system/pmcheck*`)
	if err != nil || len(expected.besides(out, "pmcheck")) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// assertLintian asserts that the release's lintian reports no error and no warning.
func assertLintian(t *testing.T, host *lab.Host, dist string, expected complaints) {
	t.Helper()
	debs, err := filepath.Glob(dist + "/*.deb")
	if err != nil || len(debs) != 1 {
		t.Fatal(debs, err)
	}
	host.Copy(debs[0], "/root/pmcheck.deb", 0o644)
	out, err := host.Run("lintian", "--no-user-dirs", "--allow-root", "--tag-display-limit=0", "/root/pmcheck.deb")
	if err != nil || len(expected.besides(out, "^[EW]: ")) > 0 {
		t.Errorf("lintian: %v\n%s", err, out)
	}
}
