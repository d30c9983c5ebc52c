package lab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// releaseEnv names the suite of the release that hosts are copies of.
	releaseEnv = "PMCHECK_RELEASE"
	// rootTime bounds how long a root takes to make. It takes 40 s to 200 s on a machine that does nothing else.
	rootTime = 30 * time.Minute
)

// A Release is a Debian release, with the packages that its hosts have beyond the essential
// ones.
type Release struct {
	Suite    string // as in sources.list
	Packages []string
	Master   bool // Puppet Server or the Ruby master is among the packages
}

// Releases lists the releases that hosts can be booted from, oldest first.
func Releases() []Release {
	with := func(packages ...string) []string {
		return append([]string{"systemd", "systemd-sysv", "dbus", "curl", "iproute2", "procps", "openssl", "haproxy"},
			packages...)
	}
	return []Release{
		{Suite: "bullseye", Packages: with("puppet", "puppet-master"), Master: true},
		{Suite: "bookworm", Packages: with("puppetserver", "puppet-agent"), Master: true},
		{Suite: "trixie", Packages: with("puppetserver", "puppet-agent", "python3", "postgresql",
			"puppetdb", "rpm", "nftables", "bindfs"), Master: true},
		{Suite: "forky", Packages: with("mount", "openvox-agent")},
	}
}

// experimental is unstable with the next HAProxy. Hosts cannot be booted from it.
var experimental = Release{Suite: "experimental", Packages: []string{"haproxy/experimental"}}

// HAProxyReleases lists the releases whose HAProxy can be started, oldest first.
func HAProxyReleases() []Release { return append(Releases(), experimental) }

func release(tb testing.TB, suite string) Release {
	tb.Helper()
	for _, r := range Releases() {
		if r.Suite == suite {
			return r
		}
	}
	tb.Fatalf("no release %q; there are %v", suite, Releases())
	return Release{}
}

// bootedRelease returns the release that the environment names in the place of this
// machine's own, if it names another.
func bootedRelease(tb testing.TB) (r Release, another bool) {
	tb.Helper()
	if suite := os.Getenv(releaseEnv); suite != "" {
		return release(tb, suite), true
	}
	return Release{}, false
}

// Root returns the directory of a root with the packages of the release, from which
// Network.BootFrom boots hosts. If this machine runs the release, that is /. Otherwise the
// first call makes it, with mmdebstrap, in a cache outside the repository; other test
// processes wait. A root that cannot be made fails the test.
func (r Release) Root(tb testing.TB) string {
	tb.Helper()
	if strings.Contains("\n"+Read(tb, "/etc/os-release"), "\nVERSION_CODENAME="+r.Suite+"\n") {
		return "/"
	}
	cache, err := os.UserCacheDir()
	Must(tb, err)
	cache = filepath.Join(cache, "pmcheck-roots")
	Must(tb, os.MkdirAll(cache, 0o755))
	list := strings.Join(r.Packages, ",")
	root := filepath.Join(cache, fmt.Sprintf("%s-%x", r.Suite, sha256.Sum256([]byte(list)))[:len(r.Suite)+9])
	lock, err := os.Create(root + ".lock")
	Must(tb, err)
	defer lock.Close()
	Must(tb, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	if _, err := os.Stat(root); err == nil {
		return root
	}
	began := time.Now()
	if err := r.make(root, list, Need(tb, "mmdebstrap", "mmdebstrap")); err != nil {
		tb.Fatalf("no root of Debian %s, so nothing was tested on it: %v", r.Suite, err)
	}
	tb.Logf("made %s in %v", root, time.Since(began).Round(time.Second))
	return root
}

// make makes the root beside its final place, so that half a root is never used.
func (r Release) make(root, list, mmdebstrap string) error {
	ctx, cancel := context.WithTimeout(context.Background(), rootTime)
	defer cancel()
	mirror, err := mirror()
	if err != nil {
		return err
	}
	partial := root + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	sources := []string{r.Suite, partial, mirror}
	if r.Suite == experimental.Suite {
		sources = []string{"sid", partial, mirror, "deb " + mirror + " experimental main"}
	}
	// What is mounted in the root goes with the last of these processes, however they end.
	args := []string{"--mount-proc", "--pid", "--fork", "--kill-child", mmdebstrap, "--mode=root",
		"--variant=apt", "--include=" + list,
		`--aptopt=APT::Install-Recommends "false"`, `--aptopt=Acquire::Check-Valid-Until "false"`,
		"--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/locale/*"}
	if err := RunOutside(exec.CommandContext(ctx, "unshare", append(args, sources...)...)); err != nil {
		return err
	}
	return os.Rename(partial, root)
}

// mirror returns the Debian mirror that this machine's apt uses.
func mirror() (string, error) {
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(SITE) $(ORIGIN)/$(LABEL)",
		"Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("apt's mirror: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		if site, origin, _ := strings.Cut(strings.TrimSpace(line), " "); origin == "Debian/Debian" {
			return site, nil
		}
	}
	return "", errors.New("apt has no Debian mirror that it has read (run apt-get update)")
}
