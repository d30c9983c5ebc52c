package packages_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func output(t *testing.T, dir, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-euc", line)
	cmd.Dir = dir
	return strings.TrimSpace(lab.Output(t, cmd))
}

func names(t *testing.T, dir string) []string { return strings.Fields(output(t, dir, "LC_ALL=C ls")) }

// TestRelease tests everything in a release but what the packages do on a host.
func TestRelease(t *testing.T) {
	dir := filepath.Dir(file(t, older, deb))
	t.Run("names", func(t *testing.T) {
		arch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		want := []string{
			"SHA256SUMS", "SHA256SUMS.asc",
			"pmcheck-1.0.0-1." + arch + ".rpm",
			"pmcheck-1.0.0-linux-" + runtime.GOARCH + ".cdx.json",
			"pmcheck-1.0.0-linux-" + runtime.GOARCH + ".tar.gz",
			"pmcheck-1.0.0.tar.gz",
			"pmcheck-pmcheck-1.0.0.tar.gz",
			"pmcheck-selinux-1.0.0-1.noarch.rpm",
			"pmcheck_1.0.0-1_" + runtime.GOARCH + ".deb",
			"repository",
		}
		if got := names(t, dir); !slices.Equal(got, want) {
			t.Errorf("the release has\n%q, want\n%q", got, want)
		}
	})
	t.Run("signatures and checksums", func(t *testing.T) {
		output(t, dir, "gpg --batch --verify SHA256SUMS.asc SHA256SUMS; sha256sum --check --strict SHA256SUMS")
		db := "rpm --dbpath " + t.TempDir()
		output(t, dir, db+" --import repository/pmcheck.asc; "+db+" --checksig *.rpm | grep -q 'signatures OK'")
		if sums := lab.Read(t, dir+"/SHA256SUMS"); strings.Count(sums, "\n") != 7 {
			t.Errorf("want the checksums of seven files:\n%s", sums)
		}
	})
	t.Run("one version", func(t *testing.T) { assertOneVersion(t, dir) })
	t.Run("image", func(t *testing.T) { assertImage(t, dir) })
	t.Run("make install", func(t *testing.T) { assertInstall(t) })
	t.Run("reproducible", func(t *testing.T) {
		again := t.TempDir()
		lab.Must(t, build("release", again, older, "TZ=Asia/Tokyo", "LANG=de_DE.UTF-8", "SIGNING_KEY="))
		for _, name := range names(t, again) {
			if name == "repository" || name == "SHA256SUMS" {
				continue // made of the signed RPMs
			}
			if strings.HasSuffix(name, ".rpm") { // without the signature
				const digest = "$(rpm -qp --qf '%{SHA256HEADER}' "
				output(t, again, "test "+digest+name+") = "+digest+dir+"/"+name+" 2>/dev/null)")
			} else if lab.Read(t, dir+"/"+name) != lab.Read(t, again+"/"+name) {
				t.Errorf("%s differs in the second build", name)
			}
		}
	})
}

// assertInstall compares what make install installs with what the DEB has.
func assertInstall(t *testing.T) {
	root, list := t.TempDir(), "sort | sed 's/\\.gz$//'"
	output(t, lab.File(t, ""), "make -s install BIN="+root+".bin DESTDIR="+root+
		" PREFIX=/usr; rm "+root+".bin")
	installed := output(t, root, "find . ! -type d -printf '%m %p\\n' | "+list)
	packaged := output(t, t.TempDir(), "dpkg-deb -x "+file(t, older, deb)+" .; rm -r usr/share/lintian; "+
		"cd usr/share/doc/pmcheck; rm NOTICES.gz changelog.gz changelog.Debian.gz copyright; cd ../../../..; "+
		"find . ! -type d -printf '%m %p\\n' | "+list)
	if diff := cmp.Diff(packaged, installed); diff != "" {
		t.Errorf("the package has (-) and make install installs (+):\n%s", diff)
	}
	assertLinks(t, filepath.Join(root, "usr/share/doc/pmcheck"))
}

// assertLinks follows the relative links of the installed documents: there is no checkout around them.
func assertLinks(t *testing.T, docs string) {
	relative := regexp.MustCompile(`\]\(([^():#\s]+)[)#]`) // no URL
	for _, name := range strings.Fields(output(t, docs, "find . -name '*.md'")) {
		for _, m := range relative.FindAllStringSubmatch(lab.Read(t, filepath.Join(docs, name)), -1) {
			target := filepath.Join(docs, filepath.Dir(name), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// assertImage makes the image of a release, and looks at its labels and files.
func assertImage(t *testing.T, dir string) {
	lab.Need(t, "buildah", "buildah")
	state := t.TempDir()
	lab.Write(t, state+"/storage.conf", "[storage]\ndriver = \"vfs\"\ngraphroot = \""+state+"/graph\"\nrunroot = \""+
		state+"/run\"\n")
	t.Setenv("CONTAINERS_STORAGE_CONF", state+"/storage.conf")
	t.Setenv("DIST", dir)
	t.Setenv("VERSION", older)
	output(t, lab.File(t, ""), "packaging/container/build image "+runtime.GOARCH)
	var index struct{ Manifests []struct{ Digest string } }
	lab.Must(t, json.Unmarshal([]byte(output(t, state, "buildah manifest inspect image")), &index))
	if len(index.Manifests) != 1 {
		t.Fatalf("the manifest has %+v", index.Manifests)
	}

	output(t, state, "buildah push image@"+index.Manifests[0].Digest+" dir:"+state+"/image")
	var manifest struct {
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	lab.Must(t, json.Unmarshal([]byte(lab.Read(t, state+"/image/manifest.json")), &manifest))
	blob := func(digest string) string { return state + "/image/" + strings.TrimPrefix(digest, "sha256:") }
	var image struct {
		Config struct {
			User   string
			Labels map[string]string
		}
	}
	lab.Must(t, json.Unmarshal([]byte(lab.Read(t, blob(manifest.Config.Digest))), &image))
	const label = "org.opencontainers.image."
	want := map[string]string{
		label + "title":       "pmcheck",
		label + "description": "Health and drain for Puppet Server behind a load balancer",
		label + "url":         "https://github.com/pmcheck/pmcheck",
		label + "source":      "https://github.com/pmcheck/pmcheck",
		label + "vendor":      "pmcheck",
		label + "version":     older,
		label + "revision":    output(t, lab.File(t, ""), "packaging/version commit"),
		label + "licenses":    output(t, dir, "rpm -qp --queryformat '%{LICENSE}' pmcheck-1*.rpm 2>/dev/null"),
	}
	if diff := cmp.Diff(want, image.Config.Labels); diff != "" || image.Config.User != "65532:65532" {
		t.Errorf("it runs as %s; labels (-want +got):\n%s", image.Config.User, diff)
	}

	files := ""
	for _, layer := range manifest.Layers {
		files += output(t, dir, "tar -tzf "+blob(layer.Digest)+" | grep -v '/$'") + "\n"
	}
	if want := "licenses/LICENSE\nlicenses/NOTICES.gz\nusr/bin/pmcheck\n"; files != want {
		t.Errorf("it has the files\n%s, want\n%s", files, want)
	}
}

// assertOneVersion compares what the program, the packages and the module say of themselves. The program has the
// commit, for pmcheck_build_info.
func assertOneVersion(t *testing.T, dir string) {
	p := t.TempDir() + "/pmcheck"
	for what, line := range map[string]string{
		"program": "tar -xOzf pmcheck-1.0.0-linux-*.tar.gz --wildcards '*/bin/pmcheck' >" + p + "; " +
			"chmod +x " + p + "; " + p + " version; " +
			"grep -q $(tar -xOzf pmcheck-1.0.0.tar.gz pmcheck-1.0.0/packaging/commit | cut -d ' ' -f 1) " + p,
		"DEB":    "dpkg-deb --field pmcheck_*.deb Version",
		"RPM":    "rpm -qp --queryformat '%{VERSION}' pmcheck-1*.rpm 2>/dev/null",
		"module": "tar -xOzf pmcheck-pmcheck-*.tar.gz pmcheck-pmcheck-1.0.0/metadata.json | grep '\"version\"'",
		"bill of materials": "cat pmcheck-1.0.0-linux-*.cdx.json | tr -d ' \\n' | " +
			`grep -o '"name":"github.com/pmcheck/pmcheck","version":"v[^"]*"'`,
		"source": "tar -xOzf pmcheck-1.0.0.tar.gz pmcheck-1.0.0/packaging/commit | " +
			"grep -q '^[0-9a-f]\\{40\\} ' && echo 1.0.0",
	} {
		if got := output(t, dir, line); !strings.Contains(got, older) {
			t.Errorf("%s says %q, want %s", what, got, older)
		}
	}
	top := output(t, dir, "tar -tzf pmcheck-pmcheck-*.tar.gz | cut -d / -f 2 | LC_ALL=C sort -u | tr '\\n' ' '")
	want := "CHANGELOG.md LICENSE README.md REFERENCE.md data files functions hiera.yaml lib manifests metadata.json " +
		"plans tasks templates types"
	if top != want {
		t.Errorf("the module has at the top\n%q, want\n%q", top, want)
	}
}
