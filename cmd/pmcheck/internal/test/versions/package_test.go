//go:build linux

package versions_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const older, newer = "1.0.0", "1.0.1"

// tooOld lists the releases that the package must not be installed on, and why.
func tooOld() map[string]string {
	return map[string]string{"bullseye": "pmcheck depends on systemd (>= 249)"}
}

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
			out, err := root.Run("dpkg", "--install", debs[older])
			if reason, refused := tooOld()[release.Suite]; refused {
				if err == nil || !strings.Contains(out, reason) {
					t.Fatalf("the package was installed: %v: %s", err, out)
				}
				note("DEB", "refused: "+reason)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			assertUnits(t, root)
			assertLintian(t, root, debs[older])
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
			note("`systemd-analyze verify` on the units", "no warning")
			note("lintian", "no error, no warning")
		})
	}
	finish(t, "versions-packages", results)
}

// assertUnits asserts that the release's systemd understands every line of the units.
func assertUnits(t *testing.T, root *lab.Chroot) {
	t.Helper()
	out, err := root.Run("sh", "-c", `systemd-analyze verify --man=no /usr/lib/systemd/system/pmcheck*`)
	if err != nil || strings.Contains(out, "pmcheck") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// assertLintian asserts that the release's lintian reports no error and no warning.
func assertLintian(t *testing.T, root *lab.Chroot, deb string) {
	t.Helper()
	out, err := root.Run("lintian", "--no-user-dirs", "--allow-root", "--tag-display-limit=0", deb)
	if err != nil || regexp.MustCompile(`(?m)^[EW]: `).MatchString(out) {
		t.Errorf("lintian: %v\n%s", err, out)
	}
}
