//go:build linux

package packages_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// release makes a release of version 1.0.0 in a directory, signed with the key of a gpg
// home, and returns its files by name.
func release(t *testing.T, dir, home string, environ ...string) map[string][]byte {
	t.Helper()
	cmd := exec.Command("packaging/build", "release", runtime.GOARCH)
	cmd.Dir = lab.File(t, "")
	cmd.Env = append(os.Environ(), "DIST="+dir, "VERSION=v"+older, "SOURCE_DATE_EPOCH=1767225600",
		"DEBFULLNAME=Release Test", "DEBEMAIL=release@pmcheck.example.org", "GNUPGHOME="+home, "SIGNING_KEY="+signer)
	cmd.Env = append(cmd.Env, environ...)
	if err := lab.RunOutside(cmd); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// signer is the user of the throw-away key.
const signer = "signer@pmcheck.example.org"

// gpgHome returns a gpg home with a key for signing. Its path is short, because gpg-agent
// listens on a socket in it.
func gpgHome(t *testing.T) string {
	t.Helper()
	lab.Need(t, "gpg", "gnupg")
	home, err := os.MkdirTemp("", "gpg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Command("gpgconf", "--homedir", home, "--kill", "all").Run()
		os.RemoveAll(home)
	})
	output(t, "gpg", "--homedir", home, "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", signer,
		"ed25519", "sign", "never")
	return home
}

// output runs a command that must succeed, and returns what it prints.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestRelease makes a release twice, and tests everything in it but what the packages do
// on a host.
func TestRelease(t *testing.T) {
	t.Parallel()
	lab.Real(t)
	lab.Need(t, "rpm", "rpm")
	home, dir := gpgHome(t), t.TempDir()
	files := release(t, dir, home)

	t.Run("names", func(t *testing.T) {
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		want := []string{
			"SHA256SUMS", "SHA256SUMS.asc",
			"pmcheck-1.0.0-1." + arch + ".rpm",
			"pmcheck-1.0.0-linux-" + runtime.GOARCH + ".cdx.json",
			"pmcheck-1.0.0-linux-" + runtime.GOARCH + ".tar.gz",
			"pmcheck-pmcheck-1.0.0.tar.gz",
			"pmcheck-selinux-1.0.0-1.noarch.rpm",
			"pmcheck_1.0.0-1_" + runtime.GOARCH + ".deb",
		}
		var got []string
		for name := range files {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("the release has\n%q, want\n%q", got, want)
		}
	})
	t.Run("signature", func(t *testing.T) {
		sums := filepath.Join(dir, "SHA256SUMS")
		output(t, "gpg", "--homedir", home, "--batch", "--verify", sums+".asc", sums)
		output(t, "sh", "-c", "cd "+dir+" && sha256sum --check --strict SHA256SUMS")
		if sums := string(files["SHA256SUMS"]); strings.Count(sums, "\n") != len(files)-2 {
			t.Errorf("SHA256SUMS does not name every file:\n%s", sums)
		}
	})
	t.Run("one version", func(t *testing.T) { assertOneVersion(t, dir) })
	t.Run("bill of materials", func(t *testing.T) {
		assertBOM(t, files["pmcheck-1.0.0-linux-"+runtime.GOARCH+".cdx.json"])
	})
	t.Run("reproducible", func(t *testing.T) {
		for name, again := range release(t, t.TempDir(), home, "TZ=Asia/Tokyo", "LANG=de_DE.UTF-8") {
			if name != "SHA256SUMS.asc" && !bytes.Equal(files[name], again) {
				t.Errorf("%s differs in the second build", name)
			}
		}
	})
}

// assertOneVersion compares what the program, the packages and the module say of themselves.
func assertOneVersion(t *testing.T, dir string) {
	out := t.TempDir()
	output(t, "sh", "-c", "tar -C "+out+" -xzf "+dir+"/pmcheck-1.0.0-linux-*.tar.gz && "+
		"tar -C "+out+" -xzf "+dir+"/pmcheck-pmcheck-*.tar.gz")
	program, err := filepath.Glob(out + "/pmcheck-1.0.0-linux-*/pmcheck")
	if err != nil || len(program) != 1 {
		t.Fatalf("the archive holds the programs %q, %v", program, err)
	}
	module := filepath.Join(out, "pmcheck-pmcheck-1.0.0")
	var metadata struct{ Version string }
	if data, err := os.ReadFile(module + "/metadata.json"); err != nil || json.Unmarshal(data, &metadata) != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]string{
		"pmcheck version": strings.TrimPrefix(output(t, program[0], "version"), "pmcheck "),
		"DEB":             output(t, "sh", "-c", "dpkg-deb --field "+dir+"/pmcheck_*.deb Version | cut -d- -f1"),
		"RPM":             output(t, "sh", "-c", "rpm -qp --queryformat '%{VERSION}' "+dir+"/pmcheck-1*.rpm 2>/dev/null"),
		"module":          metadata.Version,
	} {
		if strings.TrimSpace(got) != older {
			t.Errorf("%s says %q, want %s", what, got, older)
		}
	}
	for _, name := range []string{"CHANGELOG.md", "LICENSE", "README.md", "manifests/init.pp"} {
		if _, err := os.Stat(filepath.Join(module, name)); err != nil {
			t.Errorf("the module has no %s: %v", name, err)
		}
	}
	maintainer := "Release Test <release@pmcheck.example.org>"
	if got := output(t, "sh", "-c", "dpkg-deb --field "+dir+"/pmcheck_*.deb Maintainer"); got != maintainer+"\n" {
		t.Errorf("the maintainer of the DEB is %q, want %s", got, maintainer)
	}
}

// assertBOM asserts that a bill of materials names pmcheck with its version, and what
// depends on what.
func assertBOM(t *testing.T, content []byte) {
	var bom struct {
		Metadata struct {
			Component struct{ Name, Version string }
		}
		Components   []struct{ Name, Version string }
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.Unmarshal(content, &bom); err != nil {
		t.Fatal(err)
	}
	if c := bom.Metadata.Component; c.Name != "github.com/pmcheck/pmcheck" || c.Version != "v"+older {
		t.Errorf("it is the bill of %s %s, want github.com/pmcheck/pmcheck v%s", c.Name, c.Version, older)
	}
	edges, direct := 0, 0
	for _, d := range bom.Dependencies {
		edges, direct = edges+len(d.DependsOn), max(direct, len(d.DependsOn))
	}
	if len(bom.Components) < 20 || edges <= direct {
		t.Errorf("%d components and %d dependencies, of which one component has %d; want a graph",
			len(bom.Components), edges, direct)
	}
}
