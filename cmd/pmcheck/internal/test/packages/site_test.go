package packages_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	older = "1.0.0"
	newer = "1.0.1"
)

// signer is the user of the throw-away key that signs what is built.
const signer = "signer@pmcheck.example"

// build makes the packages, or a release, of a version in a directory.
func build(what, dir, version string, environ ...string) error {
	cmd := exec.Command("packaging/build", what, runtime.GOARCH)
	cmd.Dir = "../../../../.."
	cmd.Env = append(os.Environ(), "DIST="+dir, "VERSION="+version, "SOURCE_DATE_EPOCH=1767225600", "SIGNING_KEY="+signer)
	cmd.Env = append(cmd.Env, environ...)
	return lab.RunOutside(cmd)
}

// work is a directory that lasts as long as the test process. It has one with the packages of each version.
var work string

// built builds the packages at the first call: the older ones as a release.
var built = sync.OnceValue(func() error {
	key := exec.Command("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", signer, "ed25519", "sign",
		"never")
	if err := lab.RunOutside(key); err != nil {
		return err
	}
	return errors.Join(build("release", filepath.Join(work, older), older),
		build("packages", filepath.Join(work, newer), newer))
})

// Patterns of the names of packages; the last one is for balancers with SELinux.
const (
	deb     = "*.deb"
	rpm     = "pmcheck-[0-9]*.rpm"
	selinux = "pmcheck-selinux-*.rpm"
)

// file returns the path of the package of a version that a pattern describes.
func file(t testing.TB, version, pattern string) string {
	t.Helper()
	lab.Real(t)
	for program, from := range map[string]string{"rpm": "rpm", "gpg": "gnupg", "apt-ftparchive": "apt-utils",
		"createrepo_c": "createrepo-c"} {
		lab.Need(t, program, from)
	}
	lab.Must(t, built())
	found, err := filepath.Glob(filepath.Join(work, version, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("built the packages %v, %v, want one %s", found, err, pattern)
	}
	return found[0]
}

func TestMain(m *testing.M) {
	lab.Enter()
	lab.WatchStarvation()
	var err error
	if work, err = os.MkdirTemp("", "pmcheck-packages-"); err != nil {
		panic(err)
	}
	os.Mkdir(work+"/gpg", 0o700)
	os.Setenv("GNUPGHOME", work+"/gpg") // a short path, because gpg-agent listens on a socket in it
	status := m.Run()
	exec.Command("gpgconf", "--kill", "all").Run()
	os.RemoveAll(work)
	os.Exit(status)
}

// A hostSite is a host that reaches the repositories of both versions.
type hostSite struct {
	*lab.Site
	url string // of the work directory
}

func boot(t *testing.T, name string) *hostSite {
	t.Helper()
	file(t, older, deb) // builds both
	network := lab.StartNetwork(t)
	h := network.Boot(name)
	// Debian's unit sometimes runs kill -0 before the process has changed to user puppet:
	// "kill: Operation not permitted".
	h.WriteFile("/etc/systemd/system/puppetserver.service.d/type.conf", "[Service]\nType=exec\n", 0o644)
	h.MustRun("systemctl", "daemon-reload")
	return &hostSite{lab.NewSite(t, lab.SiteOptions{Host: h}), network.Serve(work)}
}

func (s *hostSite) with(t *testing.T) *hostSite { return &hostSite{s.With(t), s.url} }

func (s *hostSite) install(version string) {
	s.TB.Helper()
	s.Install(file(s.TB, version, deb))
}

// repository writes the file that configures apt or dnf for the repositories of a version.
func (s *hostSite) repository(path, version string) {
	s.TB.Helper()
	s.Host.WriteFile(path, strings.ReplaceAll(lab.ReadFile(s.TB, "packaging/repository/"+filepath.Base(path)),
		"https://pmcheck.github.io/pmcheck", s.url+"/"+version+"/repository"), 0o644)
}

func (s *hostSite) apt(version string) {
	s.TB.Helper()
	s.Host.MustRun("sh", "-c", "rm -f /etc/apt/sources.list /etc/apt/sources.list.d/*; mkdir -p /etc/apt/keyrings")
	s.repository("/etc/apt/sources.list.d/pmcheck.sources", version)
	s.Host.MustRun("curl", "-fsSo", "/etc/apt/keyrings/pmcheck.asc", s.url+"/"+version+"/repository/pmcheck.asc")
	s.Host.MustRun("apt-get", "-q", "update")
	s.Host.MustRun("apt-get", "-qy", "--allow-downgrades", "install", "pmcheck")
}

func (s *hostSite) dnf(version string, args ...string) {
	s.TB.Helper()
	s.repository("/etc/yum.repos.d/pmcheck.repo", version)
	s.Host.MustRun("dnf", append([]string{"-qy", "--refresh", "--releasever=9"}, args...)...)
}

func (s *hostSite) assertPrints(want, program string, args ...string) {
	s.TB.Helper()
	if out, err := s.Host.Run(program, args...); out != want {
		s.TB.Errorf("%s %s: %q, want %q (%v)", program, strings.Join(args, " "), out, want, err)
	}
}

// assertActive asserts that what the package starts at once runs.
func (s *hostSite) assertActive() {
	s.TB.Helper()
	for _, unit := range []string{"pmcheck.service", "pmcheck.socket", "pmcheck-status.socket",
		"pmcheck-puppet-group.path"} {
		s.assertPrints("active", "systemctl", "is-active", unit)
	}
}

func (s *hostSite) waitForOutput(within time.Duration, want, program string, args ...string) time.Duration {
	s.TB.Helper()
	return lab.WaitFor(s.TB, within, 50*time.Millisecond, func() error {
		out, err := s.Host.Run(program, args...)
		if out == want {
			return nil
		}
		return fmt.Errorf("%s %s: %q, want %q (%v)", program, strings.Join(args, " "), out, want, err)
	})
}
