//go:build linux

package module_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// TestModulePassesItsOwnTestsOnPuppet8: on every system in metadata.json, too.
func TestModulePassesItsOwnTestsOnPuppet8(t *testing.T) {
	lab.Real(t)
	h := lab.StartNetwork(t).BootFrom(puppet8.Root(t), "m8")
	t.Logf("puppet %s, puppetlabs-haproxy %s", h.MustRun("puppet", "--version"),
		h.MustRun("dpkg-query", "-W", "-f", "${Version}", "puppet-module-puppetlabs-haproxy"))
	if version := h.MustRun("puppet", "--version"); !strings.HasPrefix(version, "8.") {
		t.Fatalf("puppet is %s", version)
	}
	copyTree(t, h, tree(t, "packaging", "puppet"), "/root/modules/pmcheck")

	out, err := h.Run("sh", "-c", "cd /root/modules/pmcheck && MODULE_PATH=/root/modules:"+modules+" rspec 2>&1")
	if err != nil || !strings.Contains(out, " 0 failures") {
		t.Fatalf("rspec: %v\n%s", err, out)
	}
	t.Log(out[strings.LastIndex(out, "Finished"):])
}

// copyTree copies the files below dir to the host.
func copyTree(t *testing.T, h *lab.Host, dir, to string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			h.Copy(filepath.Join(dir, path), to+"/"+path, 0o644)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
