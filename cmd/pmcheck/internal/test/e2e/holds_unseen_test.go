package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// noticeUnseen is what pmcheck documents for what the kernel does not report.
const noticeUnseen = time.Second

// TestWithoutInotify: where the kernel has no watches left, holds are noticed
// late, and that is told, until it has some again.
func TestWithoutInotify(t *testing.T) {
	lab.Real(t)
	for _, limit := range []string{"max_inotify_instances", "max_inotify_watches"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			_, conf := standIn(t)
			r := newRig(t, conf)
			// The limits of a user namespace concern nobody outside.
			r.start("unshare", "--user", "--map-root-user", "--",
				"sh", "-c", `echo 0 >"/proc/sys/user/$0" && exec "$@"`, limit)
			r.await(http.StatusOK, answer.Serving, 20*time.Second)
			r.awaitWarning(true)
			out, _ := r.run("status")
			measured(t, "pmcheck status tells", warningLine(out))
			const hint = "fs.inotify.max_user_"
			if log := r.log(); strings.Count(out, hint) != 1 || strings.Count(log, hint) != 1 {
				t.Errorf("pmcheck status and the log do not say once what to raise:\n%s\n%s", out, log)
			}
			within(t, "hold written to 503, without "+limit, r.timeHold(), noticeUnseen+slack)
			began := time.Now()
			if !r.toggle("ready").InEffect {
				t.Error("pmcheck ready does not wait until it is in effect")
			}
			within(t, "pmcheck ready, start to end, without "+limit, time.Since(began), noticeUnseen+slack)

			r.raise(limit)
			r.awaitWarning(false)
			measured(t, "hold written to 503, with "+limit+" again", r.timeHold())
		})
	}
}

// raise gives the daemon's user namespace what the machine may well have.
func (r *rig) raise(limit string) {
	r.t.Helper()
	out, err := exec.Command("nsenter", "--user", "--target", strconv.Itoa(r.cmd.Process.Pid),
		"sh", "-c", `echo 128 >"/proc/sys/user/$0"`, limit).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v: %s", limit, err, out)
	}
}

// awaitWarning waits until /status tells that holds are noticed late, or no
// longer does.
func (r *rig) awaitWarning(want bool) {
	r.t.Helper()
	lab.RetryUntil(r.t, 5*time.Second, 10*time.Millisecond, func() error {
		warnings := strings.Join(r.status().Warnings, "; ")
		if strings.Contains(warnings, "holds are noticed late") != want {
			return fmt.Errorf("warnings are %q", warnings)
		}
		return nil
	})
}

// timeHold writes the operator's hold, and returns how long it took until the
// answer had changed.
func (r *rig) timeHold() time.Duration {
	r.t.Helper()
	if _, err := r.store.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain}); err != nil {
		r.t.Fatal(err)
	}
	return r.await(http.StatusServiceUnavailable, "drain", 10*time.Second)
}

// TestLostEvents: more changes than the kernel remembers hide no hold.
func TestLostEvents(t *testing.T) {
	lab.Real(t)
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	_, conf := standIn(t)
	r := serve(t, conf)
	var files [2]string // two, since the kernel counts equal events in a row once
	for i := range files {
		files[i] = filepath.Join(r.store.Persistent, fmt.Sprintf(".%d.tmp", i))
		writeFile(t, files[i], nil)
	}

	r.signal(syscall.SIGSTOP)
	for i := range queue + 100 {
		if err := os.Chmod(files[i%2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = r.store.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain})
	r.signal(syscall.SIGCONT)
	if err != nil {
		t.Fatal(err)
	}
	within(t, fmt.Sprintf("daemon continued after %d events to 503", queue+100),
		r.await(http.StatusServiceUnavailable, "drain", 10*time.Second), noticeUnseen+slack)
}

// TestBrokenDirectory breaks either holds directory under the daemon in every
// way that happens, and mends it. What cannot be read is never taken for no
// hold, and neither is what another directory says.
func TestBrokenDirectory(t *testing.T) {
	lab.Real(t)
	_, conf := standIn(t)
	r := newRig(t, conf)
	// Root without its capabilities needs permissions like everybody else.
	r.start("setpriv", "--bounding-set=-all", "--inh-caps=-all")
	r.await(http.StatusOK, answer.Serving, 20*time.Second)
	other := filepath.Join(r.dir, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(other, "other.json"), []byte(`{"mode": "drain"}`))

	for _, test := range []struct {
		name  string
		spoil func(dir string) error
	}{
		{"removed", os.RemoveAll},
		{"mode 000", func(dir string) error { return os.Chmod(dir, 0) }},
		{"mode 777", func(dir string) error { return os.Chmod(dir, 0o777) }},
		{"moved away", aside},
		{"replaced by a file", func(dir string) error {
			return errors.Join(aside(dir), os.WriteFile(dir, nil, 0o644))
		}},
		{"replaced by a dangling link", func(dir string) error {
			return errors.Join(aside(dir), os.Symlink("nowhere", dir))
		}},
		{"replaced by a link to itself", func(dir string) error {
			return errors.Join(aside(dir), os.Symlink(dir, dir))
		}},
		{"replaced by a link to a directory with a hold", func(dir string) error {
			return errors.Join(aside(dir), os.Symlink(other, dir))
		}},
		{"replaced by a directory with a hold", func(dir string) error {
			return errors.Join(aside(dir), os.CopyFS(dir, os.DirFS(other)))
		}},
		{"replaced by an empty directory", func(dir string) error {
			return errors.Join(aside(dir), os.Mkdir(dir, 0o755))
		}},
	} {
		for _, dir := range []string{r.store.Persistent, r.store.UntilReboot} {
			if err := test.spoil(dir); err != nil {
				t.Fatal(err)
			}
			what := filepath.Base(dir) + " " + test.name
			within(t, what+", to 503 maint", r.await(http.StatusServiceUnavailable, "maint", 10*time.Second), noticeUnseen+slack)
			if holds := r.status().Holds; len(holds) == 0 || holds[0].Code != drain.Unreadable || holds[0].Path != dir {
				t.Errorf("%s: holds %+v, want first the one that names the directory", what, holds)
			}
			if err := mend(dir); err != nil {
				t.Fatal(err)
			}
			if test.name == "removed" {
				r.succeed("ready") // as it is another directory now
			}
			within(t, what+", mended to 200", r.await(http.StatusOK, answer.Serving, 10*time.Second), noticeUnseen+slack)
		}
	}
}

// aside moves dir out of the way, until it is mended.
func aside(dir string) error { return os.Rename(dir, dir+".aside") }

// mend makes dir the holds directory that it was.
func mend(dir string) error {
	if _, err := os.Stat(dir + ".aside"); err == nil {
		return errors.Join(os.RemoveAll(dir), os.Rename(dir+".aside", dir))
	}
	return errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755))
}

// warningLine returns the first warning in what status prints.
func warningLine(status string) string {
	for line := range strings.Lines(status) {
		if strings.HasPrefix(line, "warning") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}
