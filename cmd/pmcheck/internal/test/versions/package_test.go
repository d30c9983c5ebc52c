//go:build linux

package versions_test

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const older, newer = "1.0.0", "1.0.1"

// TestPackageOnEachRelease installs, upgrades and removes the DEB with the dpkg of each
// release, and checks it with the systemd and the lintian of the release. Nothing is booted:
// test/packages does that on the machine's own release.
func TestPackageOnEachRelease(t *testing.T) {
	lab.Real(t)
	debs := map[string]string{older: lab.DEB(t, older), newer: lab.DEB(t, newer)}
	results := &table{cells: map[[2]string]string{}}
	for _, release := range lab.Releases() {
		t.Run(release.Suite, func(t *testing.T) {
			root := release.StartChroot(t)
			note := func(row, cell string) { results.note(row, release.Suite, cell) }
			note("systemd", version(root, "systemctl --version"))
			root.MustRun("dpkg", "--install", debs[older])
			expected := tolerated()[release.Suite]
			assertUnits(t, root, expected)
			assertLintian(t, root, debs[older], expected)
			root.MustRun("dpkg", "--install", debs[newer])
			if got := root.MustRun("pmcheck", "version"); got != "pmcheck "+newer {
				t.Errorf("after the upgrade: %s", got)
			}
			root.MustRun("dpkg", "--remove", "pmcheck")
			root.MustRun("dpkg", "--purge", "pmcheck")
			left := root.MustRun("find", "/etc", "/usr", "/var/lib", "-name", "*pmcheck*")
			if left != "" {
				t.Errorf("left behind:\n%s", left)
			}
			note("DEB", "installed, upgraded, removed, purged")
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
func assertUnits(t *testing.T, root *lab.Chroot, expected complaints) {
	t.Helper()
	out, err := root.Run("sh", "-c", `systemd-analyze verify --man=no /usr/lib/systemd/system/pmcheck*`)
	if err != nil || len(expected.besides(out, "pmcheck")) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// assertLintian asserts that the release's lintian reports no error and no warning.
func assertLintian(t *testing.T, root *lab.Chroot, deb string, expected complaints) {
	t.Helper()
	out, err := root.Run("lintian", "--no-user-dirs", "--allow-root", "--tag-display-limit=0", deb)
	if err != nil || len(expected.besides(out, "^[EW]: ")) > 0 {
		t.Errorf("lintian: %v\n%s", err, out)
	}
}
