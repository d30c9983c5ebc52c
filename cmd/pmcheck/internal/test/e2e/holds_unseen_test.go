//go:build linux

package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// noticeUnseen is the documented delay until a change is noticed that the kernel
// does not report.
const noticeUnseen = time.Second

// TestHoldsAreNoticedWithoutInotify: if the kernel has no watches left, holds are noticed
// late and the status warns of that, until there are watches again.
func TestHoldsAreNoticedWithoutInotify(t *testing.T) {
	lab.Real(t)
	for _, limit := range []string{"max_inotify_instances", "max_inotify_watches"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			r := lab.NewSite(t, lab.SiteOptions{})
			// The limits of a user namespace end with it.
			r.Start("unshare", "--user", "--map-root-user", "--",
				"sh", "-c", `echo 0 >"/proc/sys/user/$0" && exec "$@"`, limit)
			r.WaitServing(20 * time.Second)
			waitForWarning(r, true)
			out, _ := r.Run("status")
			measured(t, "pmcheck status says", warningLine(out))
			const hint = "fs.inotify.max_user_"
			if log := r.Log(); strings.Count(out, hint) != 1 || strings.Count(log, hint) != 1 {
				t.Errorf("want the limit to raise named once in pmcheck status and once in the log:\n%s\n%s", out, log)
			}
			assertWithin(t, "hold written to 503, without "+limit, timeHold(r), noticeUnseen+slack)
			began := time.Now()
			if !toggle(r, "ready").InEffect {
				t.Error("pmcheck ready does not wait until it is in effect")
			}
			assertWithin(t, "pmcheck ready, start to end, without "+limit, lab.Since(began), noticeUnseen+slack)

			raiseLimit(r, limit)
			waitForWarning(r, false)
			measured(t, "hold written to 503, with "+limit+" again", timeHold(r))
		})
	}
}

// raiseLimit gives the daemon's user namespace watches again.
func raiseLimit(r *lab.Site, limit string) {
	r.TB.Helper()
	out, err := exec.Command("nsenter", "--user", "--target", strconv.Itoa(r.Pid()),
		"sh", "-c", `echo 128 >"/proc/sys/user/$0"`, limit).CombinedOutput()
	if err != nil {
		r.TB.Fatalf("%s: %v: %s", limit, err, out)
	}
}

// waitForWarning waits until /status warns that holds are noticed late, or, if want
// is false, until it no longer does.
func waitForWarning(r *lab.Site, want bool) {
	r.TB.Helper()
	r.WaitStatus(5*time.Second, func(s lab.Status) error {
		warnings := strings.Join(s.Warnings, "; ")
		if strings.Contains(warnings, "holds are noticed late") != want {
			return fmt.Errorf("warnings are %q", warnings)
		}
		return nil
	})
}

// timeHold writes the operator's hold, and returns how long it took until the
// answer had changed.
func timeHold(r *lab.Site) time.Duration {
	r.TB.Helper()
	if _, err := r.Holds.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain}); err != nil {
		r.TB.Fatal(err)
	}
	return r.WaitRefusal("drain", 10*time.Second)
}

// TestHoldIsNoticedAfterLostEvents: a hold is noticed although inotify's event queue has
// overflowed.
func TestHoldIsNoticedAfterLostEvents(t *testing.T) {
	lab.Real(t)
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	r := lab.StartSite(t, lab.SiteOptions{})
	var files [2]string // two, since the kernel merges identical events in a row
	for i := range files {
		files[i] = filepath.Join(r.Holds.Persistent, fmt.Sprintf(".%d.tmp", i))
		writeFile(t, files[i], nil)
	}

	r.Signal(syscall.SIGSTOP)
	for i := range queue + 100 {
		if err := os.Chmod(files[i%2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = r.Holds.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain})
	r.Signal(syscall.SIGCONT)
	if err != nil {
		t.Fatal(err)
	}
	assertWithin(t, fmt.Sprintf("daemon continued after %d events to 503", queue+100),
		r.WaitRefusal("drain", 10*time.Second), noticeUnseen+slack)
}

// TestBrokenDirectoryCountsAsAHold breaks each holds directory while the daemon runs, and
// mends it. A directory that cannot be read counts as a hold, and so does a different
// directory in its place.
func TestBrokenDirectoryCountsAsAHold(t *testing.T) {
	lab.Real(t)
	r := lab.NewSite(t, lab.SiteOptions{})
	// Root without its capabilities needs permissions like any user.
	r.Start("setpriv", "--bounding-set=-all", "--inh-caps=-all")
	r.WaitServing(20 * time.Second)
	other := filepath.Join(r.Dir, "other")
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
		for _, dir := range []string{r.Holds.Persistent, r.Holds.UntilReboot} {
			if err := test.spoil(dir); err != nil {
				t.Fatal(err)
			}
			what := filepath.Base(dir) + " " + test.name
			assertWithin(t, what+", to 503 maint", r.WaitRefusal("maint", 10*time.Second), noticeUnseen+slack)
			holds := r.Status().Holds
			if len(holds) == 0 || holds[0].Code != drain.Unreadable || holds[0].Path != dir {
				t.Errorf("%s: holds %+v; the first should name the directory", what, holds)
			}
			if err := mend(dir); err != nil {
				t.Fatal(err)
			}
			if test.name == "removed" {
				r.Signal(syscall.SIGHUP) // a reload accepts the new directory
			}
			assertWithin(t, what+", mended to 200", r.WaitServing(10*time.Second), noticeUnseen+slack)
		}
	}
}

// aside moves dir out of the way; mend moves it back.
func aside(dir string) error { return os.Rename(dir, dir+".aside") }

// mend restores the holds directory dir.
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
