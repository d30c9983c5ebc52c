//go:build linux

package packages_test

import (
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

// files holds the paths of the DEB and the RPM of a version, and of the RPM for balancers
// with SELinux.
type files struct{ deb, rpm, selinux string }

// build makes the packages of a version in a directory.
func build(dir, version string) (files, error) {
	cmd := exec.Command("packaging/build", "packages", runtime.GOARCH)
	cmd.Dir = "../../../../.."
	cmd.Env = append(os.Environ(), "DIST="+dir, "VERSION="+version, "SOURCE_DATE_EPOCH=1767225600")
	if err := lab.RunOutside(cmd); err != nil {
		return files{}, err
	}
	debs, _ := filepath.Glob(dir + "/*.deb")
	rpms, _ := filepath.Glob(dir + "/pmcheck-[0-9]*.rpm")
	policies, _ := filepath.Glob(dir + "/pmcheck-selinux-*.rpm")
	if len(debs) != 1 || len(rpms) != 1 || len(policies) != 1 {
		return files{}, fmt.Errorf("built %v, %v and %v, want one of each", debs, rpms, policies)
	}
	return files{deb: debs[0], rpm: rpms[0], selinux: policies[0]}, nil
}

// work is a directory that lasts as long as the test process.
var work string

// built returns the packages by version. They are built once, at the first call.
var built = sync.OnceValues(func() (map[string]files, error) {
	made := map[string]files{}
	for _, version := range []string{older, newer} {
		var err error
		if made[version], err = build(filepath.Join(work, version), version); err != nil {
			return nil, err
		}
	}
	return made, nil
})

func packages(t *testing.T) map[string]files {
	t.Helper()
	lab.Real(t)
	lab.Need(t, "rpm", "rpm")
	made, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestMain(m *testing.M) {
	lab.Enter()
	var err error
	if work, err = os.MkdirTemp("", "pmcheck-packages-"); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(work)
	os.Exit(status)
}

// A hostSite is a host with the packages in /root.
type hostSite struct {
	*lab.Site
	t *testing.T
}

// boot boots a host and copies the packages to it.
func boot(t *testing.T, name string) *hostSite {
	t.Helper()
	made := packages(t)
	h := lab.StartNetwork(t).Boot(name)
	// Debian's unit sometimes runs kill -0 before the process has changed to user puppet:
	// "kill: Operation not permitted".
	h.WriteFile("/etc/systemd/system/puppetserver.service.d/type.conf", "[Service]\nType=exec\n", 0o644)
	h.MustRun("systemctl", "daemon-reload")
	for version, f := range made {
		h.Copy(f.deb, "/root/"+version+".deb", 0o644)
		h.Copy(f.rpm, "/root/"+version+".rpm", 0o644)
		h.Copy(f.selinux, "/root/"+version+".selinux.rpm", 0o644)
	}
	return &hostSite{Site: lab.NewSite(t, lab.SiteOptions{Host: h}), t: t}
}

// with returns a copy of the site for use in a subtest.
func (s *hostSite) with(t *testing.T) *hostSite {
	return &hostSite{Site: s.With(t), t: t}
}

// install installs a version, as an administrator does.
func (s *hostSite) install(version string) {
	s.t.Helper()
	s.Host.MustRun("dpkg", "--install", "--force-confold", "/root/"+version+".deb")
}

// assertPrints fails the test unless a command prints exactly want.
func (s *hostSite) assertPrints(want, program string, args ...string) {
	s.t.Helper()
	if out, err := s.Host.Run(program, args...); out != want {
		s.t.Errorf("%s %s: %q, want %q (%v)", program, strings.Join(args, " "), out, want, err)
	}
}

// waitForOutput waits until a command prints exactly want.
func (s *hostSite) waitForOutput(within time.Duration, want, program string, args ...string) time.Duration {
	s.t.Helper()
	return lab.WaitFor(s.t, within, 50*time.Millisecond, func() error {
		out, err := s.Host.Run(program, args...)
		if out == want {
			return nil
		}
		return fmt.Errorf("%s %s: %q, want %q (%v)", program, strings.Join(args, " "), out, want, err)
	})
}

// waitForAnswer waits until balancers get this answer.
func (s *hostSite) waitForAnswer(within time.Duration, want string) {
	s.t.Helper()
	lab.WaitFor(s.t, within, 50*time.Millisecond, func() error {
		if got := s.Answer(); got != want {
			return fmt.Errorf("the answer is %q, want %q", got, want)
		}
		return nil
	})
}

// record sends a hundred requests per second from balancers until stop is called. stop
// returns their number, and fails the test if any answer was not the wanted one.
func (s *hostSite) record(want string) (stop func() (asked int)) {
	answers := s.RecordOverlapping(10 * time.Millisecond)
	return func() int {
		s.t.Helper()
		answers.Stop().AssertOnly(want)
		return answers.Total()
	}
}
