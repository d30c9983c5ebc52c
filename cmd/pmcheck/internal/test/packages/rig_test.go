package packages_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
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

// files are the DEB and the RPM of a version.
type files struct{ deb, rpm string }

// build makes the packages of a version in a directory.
func build(dir, version string, environ ...string) (files, error) {
	cmd := exec.Command("packaging/build", "packages", runtime.GOARCH)
	cmd.Dir = "../../../../.."
	cmd.Env = append(os.Environ(), "DIST="+dir, "VERSION="+version, "SOURCE_DATE_EPOCH=1767225600")
	cmd.Env = append(cmd.Env, environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return files{}, fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	debs, _ := filepath.Glob(dir + "/*.deb")
	rpms, _ := filepath.Glob(dir + "/*.rpm")
	if len(debs) != 1 || len(rpms) != 1 {
		return files{}, fmt.Errorf("packages made: %v %v", debs, rpms)
	}
	return files{debs[0], rpms[0]}, nil
}

// work is a directory that lasts as long as the test process.
var work string

// built are the packages by version. They are made once, and only if needed.
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
	var err error
	if work, err = os.MkdirTemp("", "pmcheck-packages-"); err != nil {
		panic(err)
	}
	status := m.Run()
	os.RemoveAll(work)
	os.Exit(status)
}

// rig is a host on which the packages lie ready in /root.
type rig struct {
	*lab.Host
	t   *testing.T
	net *lab.Network
}

func boot(t *testing.T, name string) *rig {
	t.Helper()
	made := packages(t)
	n := lab.StartNetwork(t)
	r := &rig{n.Boot(name), t, n}
	// Debian's unit asks whether its process lives before that has become puppet's,
	// now and then: "kill: Operation not permitted".
	r.WriteFile("/etc/systemd/system/puppetserver.service.d/type.conf", "[Service]\nType=exec\n", 0o644)
	r.MustRun("systemctl", "daemon-reload")
	// This machine may be one on which packages start nothing.
	r.MustRun("rm", "-f", "/usr/sbin/policy-rc.d")
	for version, f := range made {
		r.Copy(f.deb, "/root/"+version+".deb", 0o644)
		r.Copy(f.rpm, "/root/"+version+".rpm", 0o644)
	}
	return r
}

// install installs a version, as an administrator does.
func (r *rig) install(version string) {
	r.t.Helper()
	r.MustRun("dpkg", "--install", "--force-confold", "/root/"+version+".deb")
}

// want fails the test unless a command prints just that.
func (r *rig) want(want, program string, args ...string) {
	r.t.Helper()
	if out, err := r.Run(program, args...); out != want {
		r.t.Errorf("%s %s: %q, want %q (%v)", program, strings.Join(args, " "), out, want, err)
	}
}

// await waits until a command prints just that.
func (r *rig) await(within time.Duration, want, program string, args ...string) time.Duration {
	r.t.Helper()
	return lab.RetryUntil(r.t, within, 50*time.Millisecond, func() error {
		out, err := r.Run(program, args...)
		if out == want {
			return nil
		}
		return fmt.Errorf("%s %s: %q, want %q (%v)", program, strings.Join(args, " "), out, want, err)
	})
}

// ask asks as a balancer does, over a connection of its own.
func (r *rig) ask(path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := r.net.DialContext(ctx, "tcp", net.JoinHostPort(r.Address, "9200"))
	if err != nil {
		return "", err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	c.SetDeadline(deadline)
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.0\r\n\r\n", path); err != nil {
		return "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, bytes.TrimSpace(body)), err
}

// awaitAnswer asks until the answer is the wanted one.
func (r *rig) awaitAnswer(within time.Duration, want string) {
	r.t.Helper()
	lab.RetryUntil(r.t, within, 50*time.Millisecond, func() error {
		got, err := r.ask("/")
		if got == want {
			return nil
		}
		return fmt.Errorf("answer %q, want %q (%v)", got, want, err)
	})
}

// checker asks a hundred times a second, each time over a new connection, until
// its stop is called. That fails the test for each answer but the wanted one.
func (r *rig) checker(want string) (stop func() (asked int)) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	wrong := map[string]int{}
	asked := 0
	done := make(chan struct{})
	wait.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			wait.Go(func() {
				got, err := r.ask("/")
				mu.Lock()
				defer mu.Unlock()
				asked++
				if err != nil {
					got = err.Error()
				}
				if got != want {
					wrong[got]++
				}
			})
		}
	})
	return func() int {
		r.t.Helper()
		close(done)
		wait.Wait()
		for got, times := range wrong {
			r.t.Errorf("%d of %d checks: %s, want %s", times, asked, got, want)
		}
		return asked
	}
}
